# Classes, named tuples, enums, interfaces, with statements, forks.
class Point(NamedTuple):
  x : int
  y : str
class Color(Enum):
  RED = 1
  BLUE = 2
class Counter:
  n : int
  names : List[str]
  def __init__(self: __torch__.Counter, n: int) -> NoneType:
    self.n = n
    self.names = annotate(List[str], [])
  def step(self: __torch__.Counter, by: int=1) -> int:
    self.n = torch.add(self.n, by)
    return self.n
  def __len__(self) -> int:
    return self.n
  def __add__(self, other: __torch__.Counter) -> __torch__.Counter:
    return __torch__.Counter(self.n + other.n)
  def __eq__(self, other: __torch__.Counter) -> bool:
    return self.n == other.n
  def __lt__(self, other: __torch__.Counter) -> bool:
    return self.n < other.n
  def __contains__(self, k: str) -> bool:
    return k in self.names
  def __getitem__(self, i: int) -> int:
    return self.n * i
class Shape(Interface):
  def area(self, scale: int) -> int:
    pass
class Square:
  side : int
  def __init__(self, side: int) -> NoneType:
    self.side = side
  def area(self, scale: int) -> int:
    return self.side * self.side * scale
class Line:
  length : int
  def __init__(self, length: int) -> NoneType:
    self.length = length
  def area(self, scale: int) -> int:
    return 0
class Scope:
  log : List[str]
  def __init__(self, log: List[str]) -> NoneType:
    self.log = log
  def __enter__(self: __torch__.Scope) -> int:
    _0 = torch.append(self.log, "enter")
    return 7
  def __exit__(self: __torch__.Scope, type: Any, value: Any, trace: Any) -> NoneType:
    _0 = torch.append(self.log, "exit")
    return None
def points() -> str:
  p = __torch__.Point(1, "a")
  a, b, = p
  return str((p, (p)[0], p.y, a, b))
def colors(c: __torch__.Color) -> str:
  if c == __torch__.Color.RED:
    r = "red"
  else:
    r = "not red"
  return r + " " + c.name + " " + str(c.value)
def red() -> str:
  return __torch__.colors(__torch__.Color.RED)
def blue() -> str:
  return __torch__.colors(__torch__.Color.BLUE)
def counting() -> str:
  c = __torch__.Counter.__new__(__torch__.Counter)
  _1 = (c).__init__(5, )
  a = (c).step(2, )
  b = c.step()
  d = __torch__.Counter(3)
  e = c + d
  return str((a, b, e.n, len(e), c == d, c < d, "x" in c, c[2]))
def aliasing() -> List[str]:
  c = __torch__.Counter(1)
  d = c
  names = d.names
  names.append("seen")
  d.n = 8
  return [str(c.n)] + c.names
def total(shapes: List[__torch__.Shape]) -> int:
  t = 0
  for s in shapes:
    t += s.area(2)
  return t
def areas() -> int:
  l = annotate(List[__torch__.Shape], [__torch__.Square(3), __torch__.Line(5), __torch__.Square(1)])
  return __torch__.total(l)
def scoped() -> List[str]:
  log = annotate(List[str], [])
  with __torch__.Scope(log) as v:
    log.append(str(v))
    inside = "yes"
  log.append(inside)
  return log
def nested_scopes() -> List[str]:
  log = annotate(List[str], [])
  with __torch__.Scope(log), __torch__.Scope(log) as b:
    log.append("body")
  return log
def forked(n: int) -> List[int]:
  futures = annotate(List[Future[int]], [])
  for i in range(n):
    def __forked_function():
      return torch.mul(i, 10)
    _0 = torch.append(futures, fork(__forked_function))
  out = annotate(List[int], [])
  for j in range(n):
    _1 = torch.append(out, torch.wait(futures[j]))
  return out
def fails_in_scope(log: List[str]) -> int:
  with __torch__.Scope(log):
    ops.prim.RaiseException("inside", "builtins.ValueError")
  return 0

def sorting() -> str:
  l = [__torch__.Counter(3), __torch__.Counter(1), __torch__.Counter(2)]
  m = sorted(l)
  l.sort(reverse=True)
  return str([c.n for c in m]) + str([c.n for c in l])

#? __torch__.points()
#= ((1, a), 1, a, 1, a)
#? __torch__.red()
#= red RED 1
#? __torch__.blue()
#= not red BLUE 2
#? __torch__.counting()
#= (7, 8, 11, 11, False, False, False, 16)
#? __torch__.aliasing()
#= [8, seen]
#? __torch__.areas()
#= 20
#? __torch__.scoped()
#= [enter, 7, exit, yes]
#? __torch__.nested_scopes()
#= [enter, enter, body, exit, exit]
#? __torch__.forked(3)
#= [0, 10, 20]
#? __torch__.fails_in_scope(annotate(List[str], []))
#! builtins.ValueError: inside
#? __torch__.Color.RED
#= Enum<Color.RED>
#? [__torch__.Color.RED, __torch__.Color.BLUE]
#= [Enum<Color.RED>, Enum<Color.BLUE>]
#? __torch__.sorting()
#= [1, 2, 3][3, 2, 1]
