# Strings: bytes, escapes, searching, splitting, formatting.
def escapes() -> str:
  return "tab\tnl\nq\"b\\octal\101\001"
def raw_length(s: str) -> int:
  return torch.len(s)
def formatted(x: float, l: List[str]) -> str:
  return torch.format("{} {} {0} {:.2f}", x, l)
def percent(a: str, b: int, c: float) -> str:
  return torch.percentFormat("%s|%d|%f|%%", (a, b, c))
def operator_percent(a: str) -> str:
  return "<%s>" % a
def pieces(s: str) -> str:
  return s[1:] + "|" + s[:-1] + "|" + s[::-1] + "|" + s[0]
def splits(s: str) -> Tuple[List[str], List[str], List[str]]:
  return (s.split(), s.split(","), s.split(",", 1))
def finds(s: str, t: str) -> Tuple[int, int, int, bool, bool]:
  return (s.find(t), s.rfind(t), s.count(t), s.startswith(t), s.endswith(t))
def cases(s: str) -> str:
  return "|".join([s.upper(), s.lower(), s.title(), s.capitalize(), s.swapcase()])
def pads(s: str) -> str:
  return "|".join([s.center(7, "*"), s.ljust(5, "."), s.rjust(5, "."), s.zfill(6), s.strip("x")])
def parts(s: str) -> Tuple[Tuple[str, str, str], Tuple[str, str, str]]:
  return (s.partition("-"), s.rpartition("-"))
def classes(s: str) -> List[bool]:
  return [s.isdigit(), s.isalpha(), s.isalnum(), s.isspace(), s.isupper(), s.islower(), s.istitle(), s.isidentifier(), s.isprintable(), s.isdecimal(), s.isnumeric()]
def compare(a: str, b: str) -> Tuple[bool, bool, bool]:
  return (a == b, a < b, a >= b)
def contains(a: str, b: str) -> bool:
  return a in b
def codes(s: str) -> Tuple[int, str]:
  return (ord(s), chr(ord(s) + 1))
def lines(s: str) -> List[str]:
  return s.splitlines()
def tabs(s: str) -> str:
  return s.expandtabs(4)
def swap(s: str, a: str, b: str) -> str:
  return s.replace(a, b)
def at(s: str, i: int) -> str:
  return s[i]
def locate(s: str, t: str) -> int:
  return s.index(t)

#? __torch__.escapes()
#= tab	nl\nq"b\\octalA
#? "a" "b" 'c'
#= abc
#? torch.len("a\rb")
#~ 3
#? __torch__.raw_length("a\000b")
#= 3
#? __torch__.formatted(2.5, ["x", "y"])
#= 2.5 [x, y] {0} {:.2f}
#? __torch__.percent("s", 3, 4.5)
#= s|3|4.500000|%
#? __torch__.operator_percent("x")
#= <x>
#? __torch__.pieces("hello")
#= ello|hell|olleh|h
#? __torch__.splits("a,b c,d")
#= ([a,b, c,d], [a, b c, d], [a, b c,d])
#? __torch__.finds("banana", "an")
#= (1, 3, 2, False, False)
#? __torch__.cases("heLLo wORLD")
#= HELLO WORLD|hello world|Hello World|Hello world|HEllO World
#? __torch__.pads("xabx")
#= **xabx*|xabx.|.xabx|00xabx|ab
#? __torch__.parts("a-b-c")
#= ((a, -, b-c), (a-b, -, c))
#? __torch__.classes("Ab1")
#= [False, False, True, False, False, False, True, True, True, False, False]
#? __torch__.classes("")
#= [False, False, False, False, False, False, False, False, True, False, False]
#? __torch__.compare("a", "b")
#= (False, True, False)
#? __torch__.contains("an", "banana")
#= True
#? __torch__.contains("x", "banana")
#= False
#? __torch__.codes("A")
#= (65, B)
#? __torch__.lines("a\nb\n\nc")
#= [a, b, , c]
#? __torch__.tabs("ab\tc")
#= ab  c
#? __torch__.swap("abab", "b", "xy")
#= axyaxy
#? __torch__.at("abc", -1)
#= c
#? __torch__.at("abc", 3)
#~! index out of range
#? __torch__.locate("abc", "z")
#! ValueError: substring not found
#? torch.format("{} {}", 1)
#! Too few arguments for format string: {} {}
#? torch.percentFormat("%x", 1)
#! The specifier %x is not supported in TorchScript format strings
#? "%s %s" % ("a",)
#! Too few arguments for format string
#? ["a", "b"]
#= [a, b]
#? str(None) + str(True) + str((1, "x")) + str((1,)) + str({"a": [1.5]})
#= NoneTrue(1, x)(1,){a: [1.5]}
#? torch.device("cuda:1")
#= cuda:1
