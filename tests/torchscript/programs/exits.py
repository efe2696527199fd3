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
  if n == 60:
    return "r60"
  if n == 61:
    return "r61"
  if n == 62:
    return "r62"
  if n == 63:
    return "r63"
  if n == 64:
    return "r64"
  if n == 65:
    return "r65"
  if n == 66:
    return "r66"
  if n == 67:
    return "r67"
  if n == 68:
    return "r68"
  if n == 69:
    return "r69"
  if n == 70:
    return "r70"
  if n == 71:
    return "r71"
  if n == 72:
    return "r72"
  if n == 73:
    return "r73"
  if n == 74:
    return "r74"
  if n == 75:
    return "r75"
  if n == 76:
    return "r76"
  if n == 77:
    return "r77"
  if n == 78:
    return "r78"
  if n == 79:
    return "r79"
  if n == 80:
    return "r80"
  if n == 81:
    return "r81"
  if n == 82:
    return "r82"
  if n == 83:
    return "r83"
  if n == 84:
    return "r84"
  if n == 85:
    return "r85"
  if n == 86:
    return "r86"
  if n == 87:
    return "r87"
  if n == 88:
    return "r88"
  if n == 89:
    return "r89"
  if n == 90:
    return "r90"
  if n == 91:
    return "r91"
  if n == 92:
    return "r92"
  if n == 93:
    return "r93"
  if n == 94:
    return "r94"
  if n == 95:
    return "r95"
  if n == 96:
    return "r96"
  if n == 97:
    return "r97"
  if n == 98:
    return "r98"
  if n == 99:
    return "r99"
  if n == 100:
    return "r100"
  if n == 101:
    return "r101"
  if n == 102:
    return "r102"
  if n == 103:
    return "r103"
  if n == 104:
    return "r104"
  if n == 105:
    return "r105"
  if n == 106:
    return "r106"
  if n == 107:
    return "r107"
  if n == 108:
    return "r108"
  if n == 109:
    return "r109"
  if n == 110:
    return "r110"
  if n == 111:
    return "r111"
  if n == 112:
    return "r112"
  if n == 113:
    return "r113"
  if n == 114:
    return "r114"
  if n == 115:
    return "r115"
  if n == 116:
    return "r116"
  if n == 117:
    return "r117"
  if n == 118:
    return "r118"
  if n == 119:
    return "r119"
  if n == 120:
    return "r120"
  if n == 121:
    return "r121"
  if n == 122:
    return "r122"
  if n == 123:
    return "r123"
  if n == 124:
    return "r124"
  if n == 125:
    return "r125"
  if n == 126:
    return "r126"
  if n == 127:
    return "r127"
  if n == 128:
    return "r128"
  if n == 129:
    return "r129"
  if n == 130:
    return "r130"
  if n == 131:
    return "r131"
  if n == 132:
    return "r132"
  if n == 133:
    return "r133"
  if n == 134:
    return "r134"
  if n == 135:
    return "r135"
  if n == 136:
    return "r136"
  if n == 137:
    return "r137"
  if n == 138:
    return "r138"
  if n == 139:
    return "r139"
  if n == 140:
    return "r140"
  if n == 141:
    return "r141"
  if n == 142:
    return "r142"
  if n == 143:
    return "r143"
  if n == 144:
    return "r144"
  if n == 145:
    return "r145"
  if n == 146:
    return "r146"
  if n == 147:
    return "r147"
  if n == 148:
    return "r148"
  if n == 149:
    return "r149"
  if n == 150:
    return "r150"
  if n == 151:
    return "r151"
  if n == 152:
    return "r152"
  if n == 153:
    return "r153"
  if n == 154:
    return "r154"
  if n == 155:
    return "r155"
  if n == 156:
    return "r156"
  if n == 157:
    return "r157"
  if n == 158:
    return "r158"
  if n == 159:
    return "r159"
  if n == 160:
    return "r160"
  if n == 161:
    return "r161"
  if n == 162:
    return "r162"
  if n == 163:
    return "r163"
  if n == 164:
    return "r164"
  if n == 165:
    return "r165"
  if n == 166:
    return "r166"
  if n == 167:
    return "r167"
  if n == 168:
    return "r168"
  if n == 169:
    return "r169"
  if n == 170:
    return "r170"
  if n == 171:
    return "r171"
  if n == 172:
    return "r172"
  if n == 173:
    return "r173"
  if n == 174:
    return "r174"
  if n == 175:
    return "r175"
  if n == 176:
    return "r176"
  if n == 177:
    return "r177"
  if n == 178:
    return "r178"
  if n == 179:
    return "r179"
  if n == 180:
    return "r180"
  if n == 181:
    return "r181"
  if n == 182:
    return "r182"
  if n == 183:
    return "r183"
  if n == 184:
    return "r184"
  if n == 185:
    return "r185"
  if n == 186:
    return "r186"
  if n == 187:
    return "r187"
  if n == 188:
    return "r188"
  if n == 189:
    return "r189"
  if n == 190:
    return "r190"
  if n == 191:
    return "r191"
  if n == 192:
    return "r192"
  if n == 193:
    return "r193"
  if n == 194:
    return "r194"
  if n == 195:
    return "r195"
  if n == 196:
    return "r196"
  if n == 197:
    return "r197"
  if n == 198:
    return "r198"
  if n == 199:
    return "r199"
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
  elif n == 30:
    r = "n30"
  elif n == 31:
    r = "n31"
  elif n == 32:
    r = "n32"
  elif n == 33:
    r = "n33"
  elif n == 34:
    r = "n34"
  elif n == 35:
    r = "n35"
  elif n == 36:
    r = "n36"
  elif n == 37:
    r = "n37"
  elif n == 38:
    r = "n38"
  elif n == 39:
    r = "n39"
  elif n == 40:
    r = "n40"
  elif n == 41:
    r = "n41"
  elif n == 42:
    r = "n42"
  elif n == 43:
    r = "n43"
  elif n == 44:
    r = "n44"
  elif n == 45:
    r = "n45"
  elif n == 46:
    r = "n46"
  elif n == 47:
    r = "n47"
  elif n == 48:
    r = "n48"
  elif n == 49:
    r = "n49"
  elif n == 50:
    r = "n50"
  elif n == 51:
    r = "n51"
  elif n == 52:
    r = "n52"
  elif n == 53:
    r = "n53"
  elif n == 54:
    r = "n54"
  elif n == 55:
    r = "n55"
  elif n == 56:
    r = "n56"
  elif n == 57:
    r = "n57"
  elif n == 58:
    r = "n58"
  elif n == 59:
    r = "n59"
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
#? __torch__.many_returns(199)
#= r199
#? __torch__.many_returns(200)
#= end
#? __torch__.deep(40)
#= 40
#? __torch__.deep(100)
#= 40
#? __torch__.deep(7)
#= 7
#? __torch__.chain(59)
#= n59
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
