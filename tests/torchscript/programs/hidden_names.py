# Locals that are named like builtins, which the writer does not rename; names that it does.
def range_local(n: int) -> int:
  range = torch.add(n, 1)
  total = 0
  for i in range(range):
    total = torch.add(total, i)
  return total
def float_local(x: int) -> float:
  float = torch.mul(x, 2)
  return float(float)
def int_local(x: float) -> int:
  int = torch.mul(x, 2.)
  return int(int)
def annotate_local(x: int) -> List[int]:
  annotate = [x]
  l = annotate(List[int], [])
  _0 = torch.extend(l, annotate)
  return l
def torch_local(x: int) -> int:
  torch = x
  return torch.add(torch, 1)
def str_local(x: int) -> str:
  str = "a"
  return torch.add(str, str(x))
def suffixed(ops0: int, as0: int) -> int:
  return torch.sub(ops0, as0)

#? __torch__.range_local(4)
#~ 10
#? __torch__.float_local(2)
#~ 4.
#? __torch__.int_local(2.5)
#~ 5
#? __torch__.annotate_local(2)
#~ [2]
#? __torch__.torch_local(2)
#~ 3
#? __torch__.str_local(5)
#~ a5
#? __torch__.suffixed(ops0=5, as0=2)
#= 3
