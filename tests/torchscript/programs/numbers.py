# Numbers: signs of division, powers, rounding, shifts, overflow, literals, conversions.
def divide(a: int, b: int) -> Tuple[int, int, float]:
  return (torch.floordiv(a, b), torch.remainder(a, b), torch.div(a, b))
def divide_floats(a: float, b: float) -> Tuple[float, float, float, float]:
  return (torch.floordiv(a, b), torch.remainder(a, b), torch.div(a, b), torch.fmod(a, b))
def modulo(a: int, b: int) -> int:
  return torch.remainder(a, b)
def both(a: int, b: int) -> Tuple[int, int]:
  return divmod(a, b)
def power(a: int, b: int) -> float:
  return torch.pow(a, b)
def rounding(x: float) -> Tuple[float, int, int, int]:
  return (round(x), torch.floor(x), torch.ceil(x), int(x))
def shifts(a: int, b: int) -> Tuple[int, int, int, int, int]:
  return (a << b, a >> b, a & b, a | b, a ^ b)
def overflow(a: int) -> Tuple[int, int, int]:
  return (torch.add(a, 1), torch.mul(a, 2), torch.neg(torch.sub(torch.neg(a), 1)))
def literals() -> List[float]:
  return [0.10000000000000001, 1e+20, 4.9406564584124654e-324, 2., -0., 123456789., inf, -inf, nan]
def integers() -> List[int]:
  return [017, 0x10, -9223372036854775808, 9223372036854775807, -0]
def imaginary() -> List[complex]:
  return [1.+2.j, -1.5+0.j, 0.-infj, 2.j]
def quirks(a: bool, b: bool, c: bool, x: int, y: int) -> Tuple[bool, int, bool]:
  return (a or b and c, -x ** 2 == -4.0, 1 < x < 3) if x > 0 else (False, False, False)
def mixed(a: int, b: float, c: complex) -> Tuple[float, complex, complex, bool, bool]:
  return (a + b, b * c, c - a, a == b, a < b)
def text(x: float) -> str:
  return str(x)
def parse(s: str) -> Tuple[int, float]:
  return (int(s), float(s))
def compare_bools(a: bool, b: bool) -> Tuple[bool, bool, int]:
  return (torch.eq(a, b), torch.ne(a, b), torch.add(a, b))
def smallest(a: int, b: float) -> Tuple[float, float, int, float]:
  return (min(a, b), max(a, b), min([a, 3, 2]), max([b, 1.]))
def summed(l: List[int]) -> Tuple[int, bool, bool]:
  return (sum(l), any(l), all(l))
def bases(i: int) -> str:
  return hex(i) + " " + oct(i) + " " + bin(i)
def cut(x: float) -> int:
  return int(x)
def floor_of(x: float) -> int:
  return torch.floor(x)

#? __torch__.divide(-7, 2)
#= (-4, 1, -3.5)
#? __torch__.divide(7, -2)
#= (-4, -1, -3.5)
#? __torch__.divide(1, 0)
#~! division by 0
#? __torch__.divide_floats(-7.5, 2.)
#= (-4., 0.5, -3.75, -1.5)
#? __torch__.divide_floats(1., 0.)
#~ (inf, nan, inf, nan)
#? __torch__.modulo(1, 0)
#~! division by 0
#? __torch__.both(-7, 2)
#= (-4, 1)
#? __torch__.both(1, 0)
#! ZeroDivisionError: integer division or modulo by zero
#? __torch__.power(2, 10)
#= 1024.
#? __torch__.power(2, -2)
#= 0.25
#? __torch__.power(0, -1)
#! 0.0 cannot be raised to a negative power
#? __torch__.rounding(2.5)
#= (2., 2, 3, 2)
#? __torch__.rounding(-3.5)
#= (-4., -4, -3, -3)
#? __torch__.cut(1e30)
#= -9223372036854775808
#? __torch__.floor_of(1e30)
#! Cannot convert float 1000000000000000019884624838656.000000 to integer
#? __torch__.floor_of(nan)
#! Cannot convert float nan to integer
#? __torch__.shifts(6, 3)
#= (48, 0, 2, 7, 5)
#? __torch__.shifts(-8, 1)
#= (-16, -4, 0, -7, -7)
#? __torch__.overflow(9223372036854775807)
#= (-9223372036854775808, -2, -9223372036854775808)
#? __torch__.literals()
#= [0.10000000000000001, 1e+20, 4.9406564584124654e-324, 2., 0., 123456789., inf, -inf, nan]
#? __torch__.integers()
#= [15, 16, -9223372036854775808, 9223372036854775807, 0]
#? __torch__.imaginary()
#= [1.+2.j, -1.5+0.j, 0.-infj, 0.+2.j]
#? __torch__.mixed(1, 2.5, 1.+2.j)
#= (3.5, 2.5+5.j, 0.+2.j, False, True)
#? __torch__.text(1.)
#= 1.
#? __torch__.text(1e16)
#= 10000000000000000.
#? __torch__.text(9.3e18)
#= 9.3e+18
#? __torch__.text(-0.)
#= 0.
#? __torch__.text(0.1)
#= 0.10000000000000001
#? __torch__.parse("12")
#= (12, 12.)
#? __torch__.parse("12a")
#! invalid literal for int() with base 10: '12a'
#? __torch__.compare_bools(True, True)
#= (True, False, 2)
#? __torch__.smallest(1, 2.5)
#= (1., 2.5, 1, 2.5)
#? __torch__.summed([1, 2, 0])
#= (3, True, False)
#? __torch__.bases(-255)
#= -0xff -0o377 -0b11111111
#? torch.div(1, 3)
#= 0.33333333333333331
#? -2 ** 2
#= -4.
#? True or False and False
#= False
#? 1 < 5 < 3
#= True
#? 7 // 2 * 2 - 1
#= 5
#? 2 ** 3 ** 0
#= 2.
#? not 1 == 2
#= True
