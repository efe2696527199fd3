# The full language as a hand may write it.
class Vector:
  x : int
  y : int
  def __init__(self, x: int, y: int) -> NoneType:
    self.x = x
    self.y = y
  def __add__(self, other: __torch__.Vector) -> __torch__.Vector:
    return __torch__.Vector(self.x + other.x, self.y + other.y)
  def __mul__(self, k: int) -> __torch__.Vector:
    return __torch__.Vector(self.x * k, self.y * k)
  def __neg__(self) -> __torch__.Vector:
    return __torch__.Vector(-self.x, -self.y)
  def __call__(self, k: int) -> int:
    return self.x * k + self.y
  def __setitem__(self, i: int, v: int) -> NoneType:
    if i == 0:
      self.x = v
    else:
      self.y = v
  def __getitem__(self, i: int) -> int:
    return self.x if i == 0 else self.y
  def show(self) -> str:
    return "({}, {})".format(self.x, self.y)
def vectors() -> List[str]:
  a = __torch__.Vector(1, 2)
  b = a + a * 3
  c = -b
  c[0] = 9
  c.y += 5
  return [a.show(), b.show(), c.show(), str(a(10)), str(c[0])]
def augmented(n: int) -> str:
  a = n
  a += 1
  a *= 3
  a -= 2
  b = a
  b = b // 4
  c = a
  c %= 5
  e = a
  e |= 8
  f = a
  f &= 6
  g = a
  g ^= 1
  h = a
  h <<= 2
  l = [n]
  m = l
  m *= 2
  return str((a, b, c, e, f, g, h, l))
def chained_assignment() -> Tuple[int, int, List[int]]:
  a = b = 3
  c, d = l = [1, 2]
  return (a + c, b + d, l)
def nested_targets() -> List[int]:
  a, (b, c), d = 1, (2, 3), 4
  for i, (j, k) in [(1, (2, 3)), (4, (5, 6))]:
    a += i * j * k
  return [a, b, c, d]
def ternaries(n: int) -> List[str]:
  return ["neg" if n < 0 else "zero" if n == 0 else "pos", str(1 if n else 2)]
def short_circuit(l: List[int]) -> Tuple[bool, bool]:
  return (len(l) > 0 and l[0] == 1, len(l) == 0 or l[0] == 2)
def membership(n: int) -> List[bool]:
  return [n in [1, 2], n not in [1, 2], "a" in {"a": 1}, not n == 3, n is not None]
def generator_arguments(l: List[int]) -> Tuple[int, bool, bool]:
  return (sum([x * x for x in l]), any([x > 2 for x in l]), all([x > 0 for x in l]))
def comprehensions(n: int) -> Tuple[List[int], List[List[int]], Dict[int, str]]:
  a = [i * 2 for i in range(n)]
  b = [[i + j for j in range(2)] for i in a]
  c = {i: str(i) for i in a}
  return (a, b, c)
def builtins_without_tuple() -> str:
  return str((min(3, 1), max([4, 9]), abs(-3), abs(-2.5), round(2.567), divmod(7, 2), pow(2, 3), len("abc"), ord("a"), chr(98), sum([1, 2]), sorted([3, 1, 2]), int("4"), float("2.5"), bool(0), str(7), list("ab"), hex(255), any([True, False])))
def enumerated() -> List[str]:
  out = annotate(List[str], [])
  for i, s in enumerate(["a", "b"], 5):
    out.append(str(i) + s)
  for a, b, c in zip([1, 2, 3], "xyz", [7, 8, 9, 10]):
    out.append(str(a) + b + str(c))
  return out
def deletes() -> str:
  d = {"a": 1, "b": 2}
  del d["a"]
  l = [1, 2, 3]
  del l[1]
  x = 5
  del x
  return str((d, l))
def one_line(x: int) -> int: return x + 1
def typed_by_comment(a, b):
  # type: (int, str) -> str
  return b + str(a)
def starred_call() -> int:
  t = (1, 2)
  return __torch__.subtract(*t)
def subtract(a: int, b: int) -> int:
  return a - b
def keyword_call() -> int:
  return __torch__.subtract(b=1, a=10)
def attribute_of_call() -> int:
  return __torch__.Vector(3, 4).y
def asserts(n: int) -> int:
  assert n > 0, "n is {}".format(n)
  assert n < 10
  return n
def closures(n: int) -> int:
  def double():
    return n * 2
  f = fork(double)
  n = 100
  return torch.wait(f)
def printed() -> str:
  print("a", 1, [2.5])
  return "done"
def while_else_free(n: int) -> int:
  total = 0
  while n:
    total += n
    n -= 1
  return total
def string_loop(s: str) -> str:
  out = ""
  for c in s[::-1]:
    out += c
  return out
def optional_chain(a: Optional[str], b: Optional[str]) -> str:
  if a is None or b is None:
    return "missing"
  return a + b
def rebinding(n: int) -> str:
  x = n
  x = str(x) + "!"
  return x

#? __torch__.vectors()
#= [(1, 2), (4, 8), (9, -3), 12, 9]
#? __torch__.augmented(5)
#= (16, 4, 1., 24, 0, 17, 64, [5, 5])
#? __torch__.chained_assignment()
#= (4, 5, [1, 2])
#? __torch__.nested_targets()
#= [127, 2, 3, 4]
#? __torch__.ternaries(0)
#= [zero, 2]
#? __torch__.ternaries(-5)
#= [neg, 1]
#? __torch__.short_circuit([1])
#= (True, False)
#? __torch__.short_circuit(annotate(List[int], []))
#= (False, True)
#? __torch__.membership(2)
#= [True, False, True, True, True]
#? __torch__.generator_arguments([1, 2, 3])
#= (14, True, True)
#? __torch__.comprehensions(2)
#= ([0, 2], [[0, 1], [2, 3]], {0: 0, 2: 2})
#? __torch__.builtins_without_tuple()
#= (1, 9, 3, 2.5, 3., (3, 1), 8., 3, 97, b, 3, [1, 2, 3], 4, 2.5, False, 7, [a, b], 0xff, True)
#? __torch__.enumerated()
#= [5a, 6b, 1x7, 2y8, 3z9]
#? __torch__.deletes()
#= ({b: 2}, [1, 3])
#? __torch__.one_line(2)
#= 3
#? __torch__.typed_by_comment(3, "x")
#= x3
#? __torch__.starred_call()
#= -1
#? __torch__.keyword_call()
#= 9
#? __torch__.attribute_of_call()
#= 4
#? __torch__.asserts(3)
#= 3
#? __torch__.asserts(-3)
#! AssertionError: n is -3
#? __torch__.asserts(30)
#! AssertionError:
#? __torch__.closures(4)
#= 8
#? __torch__.printed()
#= done
#? __torch__.while_else_free(4)
#= 10
#? __torch__.string_loop("abc")
#= cba
#? __torch__.optional_chain("a", None)
#= missing
#? __torch__.optional_chain("a", "b")
#= ab
#? __torch__.rebinding(5)
#= 5!
