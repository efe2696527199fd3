# Loops: carried values, simultaneous assignment, bounds evaluated once, exits.
def swap(n: int) -> Tuple[int, int]:
  x = 1
  y = 2
  for i in range(n):
    x, y = y, x
  return (x, y)
def fixed_bound(n: int) -> int:
  count = 0
  for i in range(n):
    n = torch.add(n, 5)
    count = torch.add(count, 1)
  return torch.add(torch.mul(n, 100), count)
def fibonacci(n: int) -> List[int]:
  _0 = annotate(List[int], [])
  a = 0
  b = 1
  _1 = torch.lt(torch.len(_0), n)
  while _1:
    _2 = torch.append(_0, a)
    _1, a, b = torch.lt(torch.len(_0), n), b, torch.add(a, b)
  return _0
def loop_variable(n: int) -> List[int]:
  seen = annotate(List[int], [])
  for i in range(n):
    _0 = torch.append(seen, i)
    i = 100
  return seen
def early_exits(l: List[int], stop: int) -> Tuple[int, int]:
  total = 0
  index = -1
  for x in l:
    if x < 0:
      continue
    if x == stop:
      index = x
      break
    total += x
  return total, index
def nested_return(n: int) -> str:
  for i in range(n):
    for j in range(n):
      if i * j == 6:
        return "{} {}".format(i, j)
      if j > i + 2:
        break
  return "none"
def countdown(n: int) -> List[int]:
  out = annotate(List[int], [])
  while True:
    if n <= 0:
      break
    n -= 1
    if n % 2 == 0:
      continue
    out.append(n)
  return out
def three_bounds(a: int, b: int, c: int) -> List[int]:
  return [i for i in range(a, b, c)]
def pairs(a: List[int], b: List[str]) -> List[str]:
  out = annotate(List[str], [])
  for i, (x, y) in enumerate(zip(a, b)):
    out.append("{}:{}{}".format(i, x, y))
  return out
def unrolled(t: Tuple[int, float, str]) -> str:
  out = ""
  for x in t:
    out = out + str(x) + ";"
  return out
def over_string(s: str) -> List[str]:
  return [c + c for c in s]
def over_dict(d: Dict[str, int]) -> int:
  total = 0
  for k in d:
    total += d[k]
  return total
def return_in_while(n: int) -> int:
  while n < 100:
    n = n * 2
    if n % 10 == 2:
      return -n
  return n
def fresh_literals(n: int) -> List[List[int]]:
  out = annotate(List[List[int]], [])
  for i in range(n):
    l = [0]
    l.append(i)
    out.append(l)
  return out

#? __torch__.swap(3)
#= (2, 1)
#? __torch__.swap(-1)
#= (1, 2)
#? __torch__.fixed_bound(3)
#= 1803
#? __torch__.fibonacci(10)
#= [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]
#? __torch__.loop_variable(3)
#= [0, 1, 2]
#? __torch__.early_exits([1, -2, 3, 4], 4)
#= (4, 4)
#? __torch__.early_exits([1, -2, 3, 4], 9)
#= (8, -1)
#? __torch__.nested_return(10)
#= 2 3
#? __torch__.nested_return(2)
#= none
#? __torch__.countdown(7)
#= [5, 3, 1]
#? __torch__.three_bounds(5, 0, -2)
#= [5, 3, 1]
#? __torch__.three_bounds(0, 10, 3)
#= [0, 3, 6, 9]
#? __torch__.three_bounds(0, 3, 0)
#! range() arg 3 must not be zero
#? __torch__.pairs([1, 2, 3], ["a", "b"])
#= [0:1a, 1:2b]
#? __torch__.unrolled((1, 2.5, "x"))
#= 1;2.5;x;
#? __torch__.over_string("abc")
#= [aa, bb, cc]
#? __torch__.over_dict({"a": 1, "b": 2})
#= 3
#? __torch__.return_in_while(3)
#= -12
#? __torch__.return_in_while(1)
#= -2
#? __torch__.fresh_literals(3)
#= [[0, 0], [0, 1], [0, 2]]
