# Early returns in number and depth, and exits inside of everything.
def many_returns(n: int) -> str:
  if n == 0:
    return "r0"
  if n == 1:
    return "r1"
  if n == 2:
    return "r2"
  if n == 3:
    return "r3"
  if n == 4:
    return "r4"
  if n == 5:
    return "r5"
  if n == 6:
    return "r6"
  if n == 7:
    return "r7"
  if n == 8:
    return "r8"
  if n == 9:
    return "r9"
  if n == 10:
    return "r10"
  if n == 11:
    return "r11"
  if n == 12:
    return "r12"
  if n == 13:
    return "r13"
  if n == 14:
    return "r14"
  if n == 15:
    return "r15"
  if n == 16:
    return "r16"
  if n == 17:
    return "r17"
  if n == 18:
    return "r18"
  if n == 19:
    return "r19"
  if n == 20:
    return "r20"
  if n == 21:
    return "r21"
  if n == 22:
    return "r22"
  if n == 23:
    return "r23"
  if n == 24:
    return "r24"
  if n == 25:
    return "r25"
  if n == 26:
    return "r26"
  if n == 27:
    return "r27"
  if n == 28:
    return "r28"
  if n == 29:
    return "r29"
  if n == 30:
    return "r30"
  if n == 31:
    return "r31"
  if n == 32:
    return "r32"
  if n == 33:
    return "r33"
  if n == 34:
    return "r34"
  if n == 35:
    return "r35"
  if n == 36:
    return "r36"
  if n == 37:
    return "r37"
  if n == 38:
    return "r38"
  if n == 39:
    return "r39"
  if n == 40:
    return "r40"
  if n == 41:
    return "r41"
  if n == 42:
    return "r42"
  if n == 43:
    return "r43"
  if n == 44:
    return "r44"
  if n == 45:
    return "r45"
  if n == 46:
    return "r46"
  if n == 47:
    return "r47"
  if n == 48:
    return "r48"
  if n == 49:
    return "r49"
  if n == 50:
    return "r50"
  if n == 51:
    return "r51"
  if n == 52:
    return "r52"
  if n == 53:
    return "r53"
  if n == 54:
    return "r54"
  if n == 55:
    return "r55"
  if n == 56:
    return "r56"
  if n == 57:
    return "r57"
  if n == 58:
    return "r58"
  if n == 59:
    return "r59"
  return "end"
def deep(n: int) -> int:
  if n > 0:
    if n > 1:
      if n > 2:
        if n > 3:
          if n > 4:
            if n > 5:
              if n > 6:
                if n > 7:
                  if n > 8:
                    if n > 9:
                      if n > 10:
                        if n > 11:
                          if n > 12:
                            if n > 13:
                              if n > 14:
                                if n > 15:
                                  if n > 16:
                                    if n > 17:
                                      if n > 18:
                                        if n > 19:
                                          if n > 20:
                                            if n > 21:
                                              if n > 22:
                                                if n > 23:
                                                  if n > 24:
                                                    if n > 25:
                                                      if n > 26:
                                                        if n > 27:
                                                          if n > 28:
                                                            if n > 29:
                                                              if n > 30:
                                                                if n > 31:
                                                                  if n > 32:
                                                                    if n > 33:
                                                                      if n > 34:
                                                                        if n > 35:
                                                                          if n > 36:
                                                                            if n > 37:
                                                                              if n > 38:
                                                                                if n > 39:
                                                                                  return 40
  return n
def chain(n: int) -> str:
  if n == 0:
    r = "zero"
  elif n == 1:
    r = "n1"
  elif n == 2:
    r = "n2"
  elif n == 3:
    r = "n3"
  elif n == 4:
    r = "n4"
  elif n == 5:
    r = "n5"
  elif n == 6:
    r = "n6"
  elif n == 7:
    r = "n7"
  elif n == 8:
    r = "n8"
  elif n == 9:
    r = "n9"
  elif n == 10:
    r = "n10"
  elif n == 11:
    r = "n11"
  elif n == 12:
    r = "n12"
  elif n == 13:
    r = "n13"
  elif n == 14:
    r = "n14"
  elif n == 15:
    r = "n15"
  elif n == 16:
    r = "n16"
  elif n == 17:
    r = "n17"
  elif n == 18:
    r = "n18"
  elif n == 19:
    r = "n19"
  elif n == 20:
    r = "n20"
  elif n == 21:
    r = "n21"
  elif n == 22:
    r = "n22"
  elif n == 23:
    r = "n23"
  elif n == 24:
    r = "n24"
  elif n == 25:
    r = "n25"
  elif n == 26:
    r = "n26"
  elif n == 27:
    r = "n27"
  elif n == 28:
    r = "n28"
  elif n == 29:
    r = "n29"
  else:
    r = "many"
  return r
def long_sum(n: int) -> int:
  return n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n + n
def in_with(n: int) -> List[str]:
  log = annotate(List[str], [])
  r = __torch__.helper(n, log)
  log.append(str(r))
  return log
class Scope:
  log : List[str]
  def __init__(self, log: List[str]) -> NoneType:
    self.log = log
  def __enter__(self) -> NoneType:
    self.log.append("in")
  def __exit__(self, type: Any, value: Any, trace: Any) -> NoneType:
    self.log.append("out")
def helper(n: int, log: List[str]) -> int:
  with __torch__.Scope(log):
    if n > 2:
      n = n + 10
  return n
def loops_in_loops(n: int) -> List[int]:
  out = annotate(List[int], [])
  i = 0
  while i < n:
    i += 1
    j = 0
    while True:
      j += 1
      if j > i:
        break
      if (i + j) % 2 == 0:
        continue
      k = 0
      while k < 10:
        k += 1
        if k * j > i:
          break
        if k == 7:
          return out
      out.append(i * 100 + j * 10 + k)
    if i == 5:
      break
  return out
def unreachable(n: int) -> int:
  if n > 0:
    return 1
  else:
    return 2
  n = n + 1
  return n
def raise_or_value(n: int) -> int:
  if n == 0:
    x = 1
  elif n == 1:
    raise AssertionError("one")
  else:
    x = 3
  return x
def variable_after(n: int) -> int:
  for i in range(n):
    last = i
    if i == 3:
      break
  total = 0
  for i in range(n):
    if i % 2 == 0:
      continue
    total += i
  return total
def return_none(n: int) -> NoneType:
  if n > 0:
    return None
  print("x")
def nested_continue(n: int) -> int:
  count = 0
  for i in range(n):
    for j in range(n):
      if j == 2:
        continue
      if i == 2:
        break
      count += 1
    else_value = count
    if i == 4:
      break
  return count
def while_none(n: int) -> int:
  x : Optional[int] = None
  while n > 0:
    if n == 3:
      x = n
    n -= 1
  if x is not None:
    return x
  return -1

#? __torch__.many_returns(0)
#= r0
#? __torch__.many_returns(59)
#= r59
#? __torch__.many_returns(200)
#= end
#? __torch__.deep(40)
#= 40
#? __torch__.deep(100)
#= 40
#? __torch__.deep(7)
#= 7
#? __torch__.chain(29)
#= n29
#? __torch__.chain(60)
#= many
#? __torch__.long_sum(2)
#= 600
#? __torch__.in_with(1)
#= [in, out, 1]
#? __torch__.in_with(3)
#= [in, out, 13]
#? __torch__.loops_in_loops(3)
#= [213, 322]
#? __torch__.loops_in_loops(20)
#= [213, 322, 415, 432, 523, 542]
#? __torch__.unreachable(1)
#= 1
#? __torch__.unreachable(0)
#= 2
#? __torch__.raise_or_value(0)
#= 1
#? __torch__.raise_or_value(1)
#! AssertionError: one
#? __torch__.raise_or_value(2)
#= 3
#? __torch__.variable_after(6)
#= 9
#? __torch__.return_none(1)
#= None
#? __torch__.nested_continue(6)
#= 20
#? __torch__.while_none(5)
#= 3
#? __torch__.while_none(2)
#= -1
