# Optional, Any, Union, refinement, exceptions.
def doubled(x: Optional[int]=None) -> int:
  if x is None:
    r = 0
  else:
    r = x * 2
  return r
def canonical(x: Optional[int]) -> int:
  if torch.__is__(x, None):
    r = -1
  else:
    y = unchecked_cast(int, x)
    r = torch.add(y, 1)
  return r
def early(x: Optional[List[int]]) -> int:
  if x is None:
    return -1
  return len(x)
def combined(a: Optional[int], b: Optional[int]) -> int:
  if a is not None and b is not None:
    return a + b
  return 0
def ternary(x: Optional[str]) -> str:
  return x if x is not None else "nothing"
def kind(x: Any) -> str:
  if isinstance(x, int):
    return "int {}".format(x)
  elif isinstance(x, float):
    return "float {}".format(x)
  elif isinstance(x, (str, bool)):
    return "str or bool {}".format(x)
  elif isinstance(x, List[int]):
    return "List[int] {}".format(len(x))
  elif isinstance(x, List[str]):
    return "List[str] " + ",".join(x)
  elif isinstance(x, Dict[str, int]):
    return "dict {}".format(x)
  elif isinstance(x, Tuple[int, str]):
    return "tuple {}".format(x[1])
  return "other"
def unwrapped(x: Optional[int]) -> int:
  return torch._unwrap_optional(x)
def asserted(x: Optional[int]) -> int:
  assert x is not None, "x is needed"
  return x + 1
def checked(k: int) -> int:
  _0 = uninitialized(int)
  if torch.gt(k, 3):
    y = torch.add(k, 1)
  else:
    ops.prim.RaiseException("small k", "builtins.ValueError")
    y = _0
  return y
def old_style(k: int) -> int:
  if torch.gt(k, 3):
    pass
  else:
    ops.prim.RaiseException("Exception")
  return k
def raised(k: int) -> int:
  if k < 0:
    raise AssertionError("negative: {}".format(k))
  return k
def joined(c: bool) -> Optional[int]:
  if c:
    r : Optional[int] = 1
  else:
    r = None
  return r
def either(x: Union[int, str]) -> str:
  if isinstance(x, int):
    return str(x + 1)
  else:
    return x + "!"
def outer(k: int) -> int:
  return __torch__.raised(k) + 1
def default_values(a: int=3, b: List[int]=[1, 2], c: Optional[str]=None, d: float=1e12, e: Tuple[int, str]=(1, "x")) -> str:
  return str((a, b, c, d, e))
def keywords(a: int, *, b: int=2) -> int:
  return a * 10 + b
def negated(x: Optional[int]) -> int:
  if not (x is None):
    return x
  return 0
def while_refined(x: Optional[int]) -> int:
  n = 0
  while x is None:
    x = n
  return x

#? __torch__.doubled()
#= 0
#? __torch__.doubled(4)
#= 8
#? __torch__.canonical(None)
#= -1
#? __torch__.canonical(4)
#= 5
#? __torch__.early(None)
#= -1
#? __torch__.early([1, 2])
#= 2
#? __torch__.combined(1, 2)
#= 3
#? __torch__.combined(1, None)
#= 0
#? __torch__.ternary(None)
#= nothing
#? __torch__.ternary("x")
#= x
#? __torch__.kind(1)
#= int 1
#? __torch__.kind(1.5)
#= float 1.5
#? __torch__.kind(True)
#= str or bool True
#? __torch__.kind("s")
#= str or bool s
#? __torch__.kind([1, 2])
#= List[int] 2
#? __torch__.kind(["a", "b"])
#= List[str] a,b
#? __torch__.kind({"a": 1})
#= dict {a: 1}
#? __torch__.kind((1, "t"))
#= tuple t
#? __torch__.kind(None)
#= other
#? __torch__.unwrapped(3)
#= 3
#? __torch__.unwrapped(None)
#! Unwrapping null optional
#? __torch__.asserted(1)
#= 2
#? __torch__.asserted(None)
#! AssertionError: x is needed
#? __torch__.checked(5)
#= 6
#? __torch__.checked(1)
#! builtins.ValueError: small k
#? __torch__.old_style(5)
#= 5
#? __torch__.old_style(1)
#! Exception
#? __torch__.outer(1)
#= 2
#? __torch__.outer(-1)
#! AssertionError: negative: -1
#? __torch__.joined(True)
#= 1
#? __torch__.joined(False)
#= None
#? __torch__.either(1)
#= 2
#? __torch__.either("a")
#= a!
#? __torch__.default_values()
#= (3, [1, 2], None, 1000000000000., (1, x))
#? __torch__.default_values(5, c="q")
#= (5, [1, 2], q, 1000000000000., (1, x))
#? __torch__.keywords(1, b=5)
#= 15
#? __torch__.negated(7)
#= 7
#? torch._unwrap_optional(annotate(Optional[int], None))
#! Unwrapping null optional
