# What does not compile or does not run, with the words that PyTorch uses.
class Box:
  n : int
  def __init__(self, n: int) -> NoneType:
    self.n = n
def unknown_operator(x: int) -> int:
  return torch.no_such_operator(x)
def unknown_value() -> int:
  return y
def one_branch(c: bool) -> int:
  if c:
    y = 1
  return y
def unknown_type(x: __torch__.Nothing) -> int:
  return 1
def tuple_index() -> int:
  t = (1, 2)
  return t[5]
def nonexistent(b: __torch__.Box) -> int:
  b.z = 3
  return 1
def set_nonexistent() -> int:
  return __torch__.nonexistent(__torch__.Box(1))
def missing_attribute() -> int:
  b = __torch__.Box(1)
  return b.q
def recursive(n: int) -> int:
  return __torch__.recursive(n - 1)
def wrong_argument() -> int:
  return __torch__.takes_int(2.5)
def takes_int(a: int) -> int:
  return a
def missing_argument() -> int:
  return __torch__.takes_int()
def too_many() -> int:
  return __torch__.takes_int(1, 2)
def unknown_keyword() -> int:
  return __torch__.takes_int(1, b=2)
def wrong_return() -> int:
  return "x"
def wrong_join(c: bool) -> int:
  if c:
    y = 1
  else:
    y = "a"
  return y
def wrong_assignment(c: bool) -> int:
  y = 1
  if c:
    y = "a"
  return y
def wrong_condition() -> int:
  if "a" + 1:
    return 1
  return 2
def wrong_operator() -> int:
  return "a" + 1
def wrong_element() -> List[int]:
  return [1, "a"]
def wrong_annotation() -> int:
  x : int = "s"
  return x
def break_outside() -> int:
  break
  return 1
def call_int() -> int:
  x = 1
  return x(2)
def in_dead_code(c: bool) -> int:
  if c:
    return 1
  return torch.no_such_operator(3)
def lists_are_invariant() -> int:
  return __torch__.takes_optionals([1])
def takes_optionals(a: List[Optional[int]]) -> int:
  return len(a)

#? __torch__.unknown_operator(1)
#! Unknown builtin op: aten::no_such_operator
#? __torch__.unknown_value()
#! undefined value y
#? __torch__.one_branch(True)
#! y is not defined in the false branch
#? __torch__.unknown_type(1)
#! Unknown type name '__torch__.Nothing'
#? __torch__.tuple_index()
#~! index out of range
#? __torch__.set_nonexistent()
#! Tried to set nonexistent attribute: z. Did you forget to initialize it in __init__()?
#? __torch__.missing_attribute()
#~! object has no attribute or method 'q'
#? __torch__.recursive(1)
#~! maximum recursion depth exceeded
#? __torch__.wrong_argument()
#~! takes_int(int a) -> int
#? __torch__.missing_argument()
#! takes_int(int a) -> int
#? __torch__.too_many()
#! takes_int(int a) -> int
#? __torch__.unknown_keyword()
#! takes_int(int a) -> int
#? __torch__.wrong_return()
#~! Return value was annotated as having type int
#? __torch__.wrong_join(True)
#! Type mismatch: y is set to type int in the true branch and type str in the false branch
#? __torch__.wrong_assignment(True)
#~! is set to type str in the true branch and type int in the false branch
#? __torch__.wrong_condition()
#~! none of its overloads takes (str, int)
#? __torch__.wrong_operator()
#~! none of its overloads takes (str, int)
#? __torch__.wrong_element()
#~! expected a value of type 'int' but found type 'str'
#? __torch__.wrong_annotation()
#~! annotated with type int
#? __torch__.break_outside()
#~! 'break' outside of a loop
#? __torch__.call_int()
#~! 'int' object is not callable
#? __torch__.in_dead_code(True)
#~ 1
#? __torch__.in_dead_code(False)
#! Unknown builtin op: aten::no_such_operator
#? __torch__.takes_optionals(annotate(List[int], []))
#! takes_optionals(int?[] a) -> int
