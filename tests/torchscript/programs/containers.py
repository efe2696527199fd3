# Lists, dicts and tuples: methods, errors, identity.
def list_methods(l: List[int]) -> List[List[int]]:
  a = l.copy()
  a.append(9)
  b = l.copy()
  b.extend(a)
  c = l.copy()
  c.insert(1, 7)
  d = l.copy()
  d.reverse()
  e = l.copy()
  e.sort(reverse=True)
  f = l.copy()
  f.remove(l[0])
  return [a, b, c, d, e, f, sorted(l), l + l, l * 2]
def slices(l: List[int]) -> List[List[int]]:
  return [l[1:], l[:-1], l[::2], l[::-1], l[5:], l[-2:], l[3:0:-2]]
def queries(l: List[int]) -> Tuple[int, int, int, bool, bool]:
  return (torch.len(l), l.count(1), l.index(2), 2 in l, l == [1, 2, 3])
def deletions(l: List[int]) -> Tuple[int, int, List[int]]:
  a = l.pop()
  b = l.pop(0)
  del l[0]
  return (a, b, l)
def get(l: List[int], i: int) -> int:
  return l[i]
def put(l: List[int], i: int) -> List[int]:
  l[i] = 5
  return l
def pop_empty() -> int:
  l = annotate(List[int], [])
  return l.pop()
def dict_methods(d: Dict[str, int]) -> str:
  e = d.copy()
  e["z"] = 26
  f = e.get("q", -1)
  g = e.setdefault("y", 25)
  h = e.pop("z")
  e.update({"a": 100})
  return str((e, f, g, h, "a" in e, len(e), e.keys(), e.values(), e.items()))
def dict_get(d: Dict[int, str], k: int) -> str:
  return d[k]
def dict_missing(d: Dict[str, int]) -> Optional[int]:
  return d.get("nothing")
def dict_order() -> Dict[str, int]:
  d = {"b": 1, "a": 2}
  d["c"] = 3
  d["b"] = 4
  del d["a"]
  d["a"] = 5
  return d
def counts(words: List[str]) -> Dict[str, int]:
  d = annotate(Dict[str, int], {})
  for w in words:
    if w in d:
      d[w] += 1
    else:
      d[w] = 1
  return d
def shared() -> List[int]:
  a = [1]
  b = a
  b.append(2)
  return a
def nested() -> List[List[int]]:
  a = [0]
  l = [a, a]
  a.append(1)
  return l
def tuples(t: Tuple[int, str, float]) -> Tuple[str, Tuple[int, str], float]:
  a, b, c, = t
  return ((t)[1], (t)[0:2], t[-1])
def starred(t: Tuple[int, int, int]) -> Tuple[int, Tuple[int, int]]:
  a, *b = t
  return (a, b)
def unpack(l: List[int]) -> int:
  a, b, = l
  return a * 10 + b
def dict_comprehension(l: List[int]) -> Dict[int, int]:
  return {x: x * x for x in l}
def optional_list() -> List[Optional[int]]:
  return annotate(List[Optional[int]], [None, 1])
def identity(a: List[int]) -> Tuple[bool, bool, bool]:
  return (a is a, a is [1], a is not [1])
def augmented(l: List[int]) -> List[int]:
  l += [4]
  l[0] += 10
  l *= 2
  return l
def largest(l: List[int]) -> int:
  return max(l)
def empty() -> List[int]:
  return annotate(List[int], [])
def join_lists(a: List[str], b: List[str]) -> List[str]:
  return torch.add(a, b)

#? __torch__.list_methods([1, 3, 2])
#= [[1, 3, 2, 9], [1, 3, 2, 1, 3, 2, 9], [1, 7, 3, 2], [2, 3, 1], [3, 2, 1], [3, 2], [1, 2, 3], [1, 3, 2, 1, 3, 2], [1, 3, 2, 1, 3, 2]]
#? __torch__.slices([1, 2, 3, 4])
#= [[2, 3, 4], [1, 2, 3], [1, 3], [4, 3, 2, 1], [], [3, 4], [4, 2]]
#? __torch__.queries([1, 2, 3])
#= (3, 1, 1, True, True)
#? __torch__.deletions([1, 2, 3, 4])
#= (4, 1, [3])
#? __torch__.get([1, 2], -1)
#= 2
#? __torch__.get([1, 2], 2)
#! list index out of range
#? __torch__.put([1, 2], 7)
#! list index out of range
#? __torch__.pop_empty()
#! pop from empty list
#? __torch__.dict_methods({"a": 1, "b": 2})
#= ({a: 100, b: 2, y: 25}, -1, 25, 26, True, 3, [a, b, y], [100, 2, 25], [(a, 100), (b, 2), (y, 25)])
#? __torch__.dict_get({1: "x"}, 1)
#= x
#? __torch__.dict_get({1: "x"}, 2)
#! KeyError: 2
#? __torch__.dict_missing({"a": 1})
#= None
#? __torch__.dict_order()
#= {b: 4, c: 3, a: 5}
#? __torch__.counts(["a", "b", "a"])
#= {a: 2, b: 1}
#? __torch__.shared()
#= [1, 2]
#? __torch__.nested()
#~ [[0, 1], [0, 1]]
#? __torch__.tuples((1, "x", 2.5))
#= (x, (1, x), 2.5)
#? __torch__.starred((1, 2, 3))
#= (1, (2, 3))
#? __torch__.unpack([1, 2])
#= 12
#? __torch__.unpack([1, 2, 3])
#! Expected 2 elements in a list but found 3
#? __torch__.dict_comprehension([1, 2])
#= {1: 1, 2: 4}
#? __torch__.optional_list()
#= [None, 1]
#? __torch__.identity([1])
#= (True, False, True)
#? __torch__.augmented([1, 2])
#= [11, 2, 4, 11, 2, 4]
#? __torch__.largest([3, 9, 2])
#= 9
#? __torch__.largest(__torch__.empty())
#! max() arg is an empty sequence
#? __torch__.join_lists(["a"], ["b"])
#= [a, b]
#? dict([("a", 1)])
#= {a: 1}
#? list(range(3))
#= [0, 1, 2]
#? list("abc")
#= [a, b, c]
