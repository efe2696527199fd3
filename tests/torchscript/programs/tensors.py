# Tensors: indexing sugar, slice assignment, augmented assignment, conversions, tolist.
def base() -> Tensor:
  return torch.reshape(torch.arange(12), [3, 4])
def picks(x: Tensor) -> List[str]:
  return [str(x[0]), str(x[-1, 2]), str(x[:, 1]), str(x[1:, ::2]), str(x[..., 0]), str(x[None].size())]
def picked() -> List[str]:
  return __torch__.picks(__torch__.base())
def by_list() -> Tensor:
  x = __torch__.base()
  return x[[0, 2], 1:3]
def by_mask() -> Tensor:
  x = __torch__.base()
  return x[x > 6]
def assigned() -> Tensor:
  x = __torch__.base()
  x[0] = 7
  x[1, 2:] = torch.tensor([50, 60])
  x[x == 9] = -1
  return x
def augmented() -> Tensor:
  x = __torch__.base()
  x[:, 0] += 100
  x *= 2
  y = x
  y -= 1
  return x
def indexed_put() -> Tensor:
  x = torch.zeros([4])
  x[torch.tensor([1, 3])] += 2
  return x
def sums() -> str:
  x = __torch__.base()
  s = 0
  for row in x:
    s += int(row.sum())
  return str(s)
def numbers() -> str:
  x = torch.tensor([2.5])
  n = annotate(int, torch.tensor(3))
  return str((float(x), int(x), bool(x), n, x.item(), torch.item(torch.tensor(7))))
def listed() -> List[List[int]]:
  return annotate(List[List[int]], __torch__.base().tolist())
def listed_floats() -> List[float]:
  return annotate(List[float], torch.tensor([1.5, 2.]).tolist())
def wrong_list() -> List[int]:
  return annotate(List[int], torch.tensor([1.5]).tolist())
def properties() -> str:
  x = torch.zeros([2, 3], dtype=6)
  return str((x.shape, x.dtype, x.device, x.ndim, x.requires_grad, x.is_cuda, x.T.size(), x.dim()))
def truth(n: int) -> str:
  if torch.gt(torch.tensor(n), 2):
    return "big"
  return "small"
def many_elements() -> str:
  if torch.zeros([2]):
    return "x"
  return "y"
def to_int() -> int:
  return annotate(int, torch.tensor(1.5))
def number_to_tensor() -> str:
  return str((torch.tensor(3.5).dtype, ops.prim.NumToTensor(3.5).dtype, torch.tensor([1, 2]).dtype, torch.tensor([True]).dtype))
def ragged() -> Tensor:
  return torch.tensor([[1, 2], [3]])
def stacked() -> str:
  a, b = torch.split(torch.arange(4), 2)
  c, d, = torch.unbind(torch.reshape(torch.arange(4), [2, 2]))
  values, indices = torch.max(__torch__.base(), 1)
  return str((a, b, c, d, values, indices))
def chained() -> str:
  x = torch.ones([2])
  y = x.add(1).mul_(3).neg()
  return str((x, y))
def grads() -> List[bool]:
  a = torch.is_grad_enabled()
  torch.set_grad_enabled(False)
  b = torch.is_grad_enabled()
  torch.set_grad_enabled(True)
  return [b, torch.is_grad_enabled()]

#? __torch__.picked()
#= [ 0\n 1\n 2\n 3\n[ CPULongType{4} ], 10\n[ CPULongType{} ],  1\n 5\n 9\n[ CPULongType{3} ],   4   6\n  8  10\n[ CPULongType{2,2} ],  0\n 4\n 8\n[ CPULongType{3} ], [1, 3, 4]]
#? __torch__.by_list()
#=   1   2\n  9  10\n[ CPULongType{2,2} ]
#? __torch__.by_mask()
#=   7\n  8\n  9\n 10\n 11\n[ CPULongType{5} ]
#? __torch__.assigned()
#=   7   7   7   7\n  4   5  50  60\n  8  -1  10  11\n[ CPULongType{3,4} ]
#? __torch__.augmented()
#=  199    1    3    5\n 207    9   11   13\n 215   17   19   21\n[ CPULongType{3,4} ]
#? __torch__.indexed_put()
#=  0\n 2\n 0\n 2\n[ CPUFloatType{4} ]
#? __torch__.sums()
#= 66
#? __torch__.numbers()
#= (2.5, 2, True, 3, 2.5, 7)
#? __torch__.listed()
#= [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
#? __torch__.listed_floats()
#= [1.5, 2.]
#? __torch__.wrong_list()
#! Output annotation element type and runtime tensor element type must match for tolist(): Long vs Float
#? __torch__.properties()
#= ([2, 3], 6, cpu, 2, False, False, [3, 2], 2)
#? __torch__.truth(3)
#= big
#? __torch__.truth(1)
#= small
#? __torch__.many_elements()
#! Boolean value of Tensor with more than one value is ambiguous
#? __torch__.to_int()
#! Cannot input a tensor of type Float as an integral argument
#? __torch__.number_to_tensor()
#= (6, 7, 4, 11)
#? __torch__.ragged()
#~! Expected sequence of length 2 at dim
#? __torch__.stacked()
#= ( 0\n 1\n[ CPULongType{2} ],  2\n 3\n[ CPULongType{2} ],  0\n 1\n[ CPULongType{2} ],  2\n 3\n[ CPULongType{2} ],   3\n  7\n 11\n[ CPULongType{3} ],  3\n 3\n 3\n[ CPULongType{3} ])
#? __torch__.chained()
#= ( 1\n 1\n[ CPUFloatType{2} ], -6\n-6\n[ CPUFloatType{2} ])
#? __torch__.grads()
#= [False, True]
#? torch.tensor([[1, 2], [3, 4]])
#=  1  2\n 3  4\n[ CPULongType{2,2} ]
#? torch.tensor(2) + 3
#= 5\n[ CPULongType{} ]
#? 3 - torch.tensor([1, 2])
#=  2\n 1\n[ CPULongType{2} ]
#? 2 / torch.tensor([1., 4.])
#~  2.0000\n 0.5000\n[ CPUFloatType{2} ]
#? ops.prim.abs(torch.tensor([1., -2.]))
#=  1\n 2\n[ CPUFloatType{2} ]
