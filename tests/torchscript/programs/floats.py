# Float literals that a writer prints as bare integers (1e10 to 1e17), which PyTorch itself refuses
# to read back in many places.
def defaulted(x: float=1000000000000) -> float:
  return x
def listed() -> List[float]:
  return [1000000000000, 1.5]
def annotated() -> float:
  x : float = 10000000000
  return x
def joined(c: bool) -> float:
  if c:
    x = 1000000000000
  else:
    x = 0.5
  return x
def joined_other(c: bool) -> float:
  if c:
    x = 0.5
  else:
    x = -10000000000
  return x
def passed() -> float:
  return __torch__.takes(10000000000)
def takes(x: float) -> float:
  return torch.mul(x, 2)
def returned() -> float:
  return 10000000000000000
def tupled() -> Tuple[float, int]:
  return (10000000000, 3)
def in_dict() -> Dict[str, float]:
  return annotate(Dict[str, float], {"a": 10000000000})
def ordinary() -> List[float]:
  return [1e+17, 9999999999., 0.1, 5e-324, -0., 1.7976931348623157e+308]
def computed(n: int) -> int:
  return torch.mul(10000000000, n)

#? __torch__.defaulted()
#~ 1000000000000.
#? __torch__.listed()
#~ [1000000000000., 1.5]
#? __torch__.annotated()
#~ 10000000000.
#? __torch__.joined(True)
#~ 1000000000000.
#? __torch__.joined(False)
#~ 0.5
#? __torch__.joined_other(False)
#~ -10000000000.
#? __torch__.passed()
#~ 20000000000.
#? __torch__.returned()
#~ 10000000000000000.
#? __torch__.tupled()
#~ (10000000000., 3)
#? __torch__.in_dict()
#~ {a: 10000000000.}
#? __torch__.ordinary()
#= [100000000000000000., 9999999999., 0.10000000000000001, 4.9406564584124654e-324, 0., 1.7976931348623157e+308]
#? __torch__.computed(3)
#= 30000000000
