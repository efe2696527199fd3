op_version_set = 1
import __torch__.torch.nn
def two(x, n: int) -> Tuple[Tensor, int]:
  # type: (Tensor, int) -> Tuple[Tensor, int]
  return (torch.add(x, n, alpha=1), n)
import __torch__.something.else_
def explicit() -> Tensor:
  x = torch.zeros([2], dtype=None, layout=None, device=None, pin_memory=None)
  y = torch.to(x, dtype=7, layout=0, device=torch.device("cpu"), pin_memory=False, non_blocking=False, copy=False, memory_format=None)
  return torch.slice(torch.add(y, 1.5, 1), 0, 0, 9223372036854775807, 1)
def shape_of(x: Tensor) -> Tuple[List[int], int]:
  return (ops.prim.shape(x), ops.prim.ndim(x))
def shapes() -> str:
  return str(__torch__.shape_of(torch.zeros([2, 3])))
def unwrapped(x: Optional[int]) -> int:
  if torch.__isnot__(x, None):
    y = ops.prim.unchecked_unwrap_optional(x)
  else:
    y = 0
  return y
def alias() -> Tensor:
  return torch.true_divide(torch.absolute(torch.neg(torch.ones([2]))), torch.tensor(2.0))
def reversed_scalar() -> Tensor:
  x = torch.tensor([2, 4])
  return torch.sub(1, x)
def added() -> str:
  return str((__torch__.two(torch.ones([1]), 2))[0])

#? __torch__.added()
#=  3\n[ CPUFloatType{1} ]
#? __torch__.explicit()
#=  1.5000\n 1.5000\n[ CPUDoubleType{2} ]
#? __torch__.shapes()
#= ([2, 3], 2)
#? __torch__.unwrapped(None)
#= 0
#? __torch__.unwrapped(5)
#= 5
#? __torch__.alias()
#=  0.5000\n 0.5000\n[ CPUFloatType{2} ]
#? __torch__.reversed_scalar()
#= -1\n-3\n[ CPULongType{2} ]
