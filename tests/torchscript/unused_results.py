# Functions whose results are used for a size alone, so that a plan which knows the size needs none
# of them; see unused_results_test.cc. Before each: arguments that fit, and behind "!" some that do
# not. "2x3" are floats of these sizes, "i1,0" is a vector of integers, "n4" a number.

# Products
#? 2x3 3x4 | 5x6 6x7 ! 2x3 4x5
def matmul(a: Tensor, b: Tensor) -> int:
  return torch.size(torch.matmul(a, b), 1)
#? 2x3 3x4 | 5x6 6x7 ! 2x3 4x5
def mm(a: Tensor, b: Tensor) -> int:
  return torch.size(torch.mm(a, b), 0)
#? 2x3x4 2x4x5 | 3x5x6 3x6x7 ! 2x3x4 3x4x5
def bmm(a: Tensor, b: Tensor) -> int:
  return torch.size(torch.bmm(a, b), 1)
#? 2x3x4 2x4x5 | 3x5x6 3x6x7 ! 2x3x4 3x4x5
def matmul_of_batches(a: Tensor, b: Tensor) -> int:
  return torch.size(torch.matmul(a, b), 1)
#? 2x3 3 | 4x5 5 ! 2x3 4
def mv(a: Tensor, b: Tensor) -> int:
  return torch.dim(torch.mv(a, b))
#? 3 3 | 5 5 ! 3 4
def dot(a: Tensor, b: Tensor) -> int:
  return torch.dim(torch.dot(a, b))
#? 4 2x3 3x4 | 7 5x6 6x7 ! 5 2x3 3x4
def addmm(c: Tensor, a: Tensor, b: Tensor) -> int:
  return torch.size(torch.addmm(c, a, b), 0)
#? 1 2x3x4 2x4x5 | 1 3x5x6 3x6x7 ! 1 2x3x4 2x5x5
def baddbmm(c: Tensor, a: Tensor, b: Tensor) -> int:
  return torch.size(torch.baddbmm(c, a, b), 0)
#? 2x3 4x3 4 | 5x6 7x6 7 ! 2x3 4x5 4
def linear(x: Tensor, w: Tensor, b: Tensor) -> int:
  return torch.size(torch.linear(x, w, b), 1)
#? 2x3 4x3 4 | 5x6 7x6 7 ! 2x3 4x3 5
def linear_with_another_bias(x: Tensor, w: Tensor, b: Tensor) -> int:
  return torch.size(torch.linear(x, w, b), 1)
#? 1x2x3x4 1x2x3x4 1x2x3x4 | 2x2x5x4 2x2x5x4 2x2x5x4 ! 1x2x3x4 1x2x3x5 1x2x3x4
def attention(q: Tensor, k: Tensor, v: Tensor) -> int:
  return torch.size(torch.scaled_dot_product_attention(q, k, v), 2)

# Layers
#? 1x3x8x8 4x3x3x3 | 2x3x9x9 4x3x3x3 ! 1x2x8x8 4x3x3x3
def conv2d(x: Tensor, w: Tensor) -> int:
  return torch.size(torch.conv2d(x, w, None, [1, 1], [1, 1]), 2)
#? 1x3x8 3x4x3 | 2x3x9 3x4x3 ! 1x2x8 3x4x3
def conv_transpose(x: Tensor, w: Tensor) -> int:
  return torch.size(torch.conv_transpose1d(x, w), 0)
#? 1x3x8x8 | 2x3x9x9 ! 1x3x1x1
def max_pool(x: Tensor) -> int:
  return torch.size(torch.max_pool2d(x, [3, 3]), 1)
#? 1x3x8x8 | 2x3x9x9 ! 1x3x0x8
def adaptive_pool(x: Tensor) -> int:
  return torch.size(torch.adaptive_avg_pool2d(x, [2, 2]), 2)
#? 2x3 3 | 4x5 5 ! 2x3 4
def layer_norm(x: Tensor, w: Tensor) -> int:
  return torch.size(torch.layer_norm(x, [torch.size(w, 0)], w), 0)
#? 2x4x3 n2 | 3x6x5 n2 ! 2x5x3 n2
def group_norm(x: Tensor, n: int) -> int:
  return torch.size(torch.group_norm(x, n), 1)
#? 2x3 3 | 4x5 5 ! 2x3 4
def batch_norm(x: Tensor, m: Tensor) -> int:
  return torch.size(torch.batch_norm(x, None, None, m, m, False, 0.1, 1e-05, True), 1)
#? 5x3 i0,4 | 6x3 i1,2,3 ! 5x3 i0,7
def embedding(table: Tensor, i: Tensor) -> int:
  return torch.size(torch.embedding(table, i), 0)
#? 1x8x2x2 n2 | 2x16x3x3 n2 ! 1x6x2x2 n2
def pixel_shuffle(x: Tensor, n: int) -> int:
  return torch.dim(torch.pixel_shuffle(x, n))
#? 4x3 i0,1,2,0 | 5x4 i0,1,2,0,3 ! 4x3 i0,1,2,5
def nll_loss(x: Tensor, t: Tensor) -> int:
  return torch.dim(torch.nll_loss(x, t))

#? 2x8 16x8 5x16 | 3x8 16x8 4x16 ! 2x8 16x8 5x15
def layers_in_line(x: Tensor, w: Tensor, v: Tensor) -> int:
  return torch.size(torch.relu(torch.linear(torch.relu(torch.linear(x, w)), v)), 0)
#? 2x8 16x8 16x16 | 3x8 16x8 16x16 ! 2x8 16x8 16x15
def layer_between_others(x: Tensor, w: Tensor, v: Tensor) -> int:
  y = torch.relu(torch.linear(x, w))
  z = torch.sigmoid(torch.linear(y, v))
  t = torch.view(y, [torch.size(z, 0), 16])
  return int(torch.sum(torch.softmax(torch.linear(t, torch.transpose(w, 0, 1)), 1)))
#? 1x3x8x8 4x3x3x3 4x4x3x3 | 2x3x9x9 4x3x3x3 4x4x3x3 ! 1x3x8x8 4x3x3x3 4x5x3x3
def convolutions_in_line(x: Tensor, w: Tensor, v: Tensor) -> int:
  y = torch.relu(torch.conv2d(x, w, None, [1, 1], [1, 1]))
  z = torch.relu(torch.conv2d(y, v, None, [1, 1], [1, 1]))
  return torch.add(torch.size(z, 2), int(torch.sum(torch.mul(torch.conv2d(y, torch.transpose(w, 0, 1), None, [1, 1], [1, 1]), 0))))

# Look-ups
#? 5x3 i0,4 | 6x3 i1,2,3 ! 5x3 i0,7
def index(x: Tensor, i: Tensor) -> int:
  return torch.size(torch.index(x, annotate(List[Optional[Tensor]], [i])), 1)
#? 5x3 i0,4 | 6x3 i1,2,3 ! 5x3 i0,7
def index_select(x: Tensor, i: Tensor) -> int:
  return torch.size(torch.index_select(x, 0, i), 1)
#? 5 i0,4 | 6 i1,2,3 ! 5 i0,7
def gather(x: Tensor, i: Tensor) -> int:
  return torch.size(torch.gather(x, 0, i), 0)
#? 5 i0,4 | 6 i1,2,3 ! 5 i0,7
def take(x: Tensor, i: Tensor) -> int:
  return torch.dim(torch.mul(torch.take(x, i), torch.take(x, i)))
#? 5 i0,4 2 | 6 i1,2,3 3 ! 5 i0,7 2
def scatter(x: Tensor, i: Tensor, s: Tensor) -> int:
  return torch.size(torch.scatter(x, 0, i, s), 0)
#? 5x3 n4 | 6x3 n2 ! 5x3 n5
def select(x: Tensor, i: int) -> int:
  return torch.size(torch.select(x, 0, i), 0)
#? 5x3 n1 n4 | 6x3 n0 n2 ! 5x3 n3 n4
def narrow(x: Tensor, s: int, n: int) -> int:
  return torch.size(torch.narrow(x, 0, s, n), 1)
#? 5x3 n1 | 6x4 n2 ! 5x3 n0
def slice_step(x: Tensor, s: int) -> int:
  return torch.size(torch.slice(x, 0, None, None, s), 1)
#? i1,0 | i1,2,0 ! i1,-1
def one_hot(i: Tensor) -> int:
  return torch.size(torch.one_hot(i), 0)

# Views
#? 2x6 n4 | 3x4 n6 ! 2x6 n5
def view(x: Tensor, n: int) -> int:
  return torch.dim(torch.view(x, [n, -1]))
#? 2x6 | 3x4 ! 3x5
def view_by_a_constant(x: Tensor) -> int:
  return torch.size(torch.view(x, [-1, 2]), 1)
#? 2x8 | 3x8 ! 0x8
def view_of_no_rows(x: Tensor) -> int:
  return torch.size(torch.view(x, [torch.size(x, 0), -1]), 1)
#? 2x6 n4 | 3x4 n6 ! 2x6 n5
def reshape(x: Tensor, n: int) -> int:
  return torch.dim(torch.reshape(x, [n, -1]))
#? 2x6 n4 n3 | 3x4 n6 n2 ! 2x6 n4 n4
def reshape_to_both(x: Tensor, n: int, m: int) -> int:
  return torch.dim(torch.reshape(x, [n, m]))
#? 2x6 n3 | 3x4 n2 ! 2x6 n4
def unflatten(x: Tensor, n: int) -> int:
  return torch.dim(torch.unflatten(x, 1, [n, -1]))
#? 1x6 n4 | 1x4 n6 ! 2x6 n5
def expand(x: Tensor, n: int) -> int:
  return torch.size(torch.expand(x, [n, -1]), 1)
#? 2x6 6 | 3x4 4 ! 2x6 5
def expand_as(x: Tensor, y: Tensor) -> int:
  return torch.dim(torch.expand_as(y, x))
#? 2x6 n0 | 3x4 n1 ! 2x6 n2
def transpose(x: Tensor, n: int) -> int:
  return torch.dim(torch.transpose(x, n, 1))
#? 2x6 n0 | 3x4 n1 ! 2x6 n3
def unsqueeze(x: Tensor, n: int) -> int:
  return torch.dim(torch.unsqueeze(x, 0)) + torch.size(torch.view(torch.unsqueeze(x, n), [1, -1]), 0)
#? 2x4 | 3x6 ! 2x5
def pairs(x: Tensor) -> int:
  return torch.size(torch.glu(x), 0)

# Joins and parts
#? 2x3 4x3 | 5x4 1x4 ! 2x3 4x5
def cat(a: Tensor, b: Tensor) -> int:
  return torch.size(torch.cat([a, b]), 1)
#? 2x3 2x3 | 5x4 5x4 ! 2x3 2x5
def stack(a: Tensor, b: Tensor) -> int:
  return torch.size(torch.stack([a, b]), 1)
#? 5x3 n2 n3 | 6x3 n2 n4 ! 5x3 n2 n4
def split_by_sizes(x: Tensor, n: int, m: int) -> int:
  a, b, = torch.split_with_sizes(x, [n, m])
  return torch.size(a, 1) + torch.size(b, 1)
#? 4x3 | 6x3 ! 1x3
def chunks(x: Tensor) -> int:
  a, b, = torch.chunk(x, 2)
  return torch.size(a, 1) + torch.size(b, 1)
#? 2x3 | 2x4 ! 3x3
def unbind(x: Tensor) -> int:
  a, b, = torch.unbind(x)
  return torch.size(a, 0) + torch.dim(b)
#? 2x3 4x3 | 5x4 1x4 ! 2x3 4x5
def an_item_of_a_list(a: Tensor, b: Tensor) -> int:
  items = [torch.cat([a, b]), torch.relu(a)]
  return torch.size(items[1], 0)

# Point-wise work
#? 2x3 3 | 4x5 5 ! 2x3 4
def add(a: Tensor, b: Tensor) -> int:
  return torch.size(torch.add(a, b), 0)
#? 2x3 3 | 4x5 5 ! 2x3 4
def chain(a: Tensor, b: Tensor) -> int:
  return torch.size(torch.tanh(torch.mul(torch.sigmoid(torch.add(a, b)), b)), 0)
#? 2x3 3 | 4x5 5 ! 2x3 4
def chain_that_is_read_too(a: Tensor, b: Tensor) -> int:
  c = torch.sigmoid(a)
  d = torch.tanh(torch.mul(c, b))
  return torch.add(torch.size(d, 0), int(torch.sum(torch.exp(torch.neg(c)))))
#? 2x3 3 | 4x5 5 ! 2x3 4
def in_place(a: Tensor, b: Tensor) -> int:
  c = torch.relu(a)
  d = torch.add_(c, b)
  return torch.size(d, 0)
#? 1x1 1x1 | 2x3 2x3 ! 1x3 2x3
def in_place_does_not_grow(a: Tensor, b: Tensor) -> int:
  c = torch.relu(a)
  d = torch.add_(c, b)
  return torch.dim(d)
#? 2x3 3 | 4x5 5 ! 2x3 4
def where(a: Tensor, b: Tensor) -> int:
  return torch.size(torch.where(torch.gt(a, 0), a, b), 0)
#? 2x3 3 | 4x5 5 ! 2x3 4
def masked_fill(a: Tensor, b: Tensor) -> int:
  return torch.size(torch.masked_fill(a, torch.gt(b, 0), 1), 0)
#? 2x3 n1 | 4x5 n0 ! 2x3 n2
def softmax(x: Tensor, n: int) -> int:
  return torch.size(torch.softmax(x, n), 0)
#? 2x3 n1 | 4x5 n0 ! 2x3 n2
def sum_of_a_dimension(x: Tensor, n: int) -> int:
  return torch.dim(torch.relu(torch.sum(x, [n], True)))
#? 2x3 | 4x5 ! 0x5
def largest(x: Tensor) -> int:
  return torch.dim(torch.max(x))
#? 4x3 n3 | 5x4 n2 ! 4x3 n5
def topk(x: Tensor, n: int) -> int:
  a, b, = torch.topk(x, n, 0)
  return torch.size(a, 1)
#? n3 n4 | n5 n6 ! n3 n-4
def zeros(n: int, m: int) -> int:
  return torch.dim(torch.zeros([n, m]))
#? n3 | n5 ! n-4
def arange(n: int) -> int:
  return torch.dim(torch.arange(n))
#? 1 | 1x1 ! 2
def a_number(x: Tensor) -> int:
  n = int(x)
  return torch.dim(torch.zeros([n, 2]))

# Results that a branch decided beforehand does not need
#? 2x3 4x3 | 5x4 1x4 ! 2x3 4x5
def branch(a: Tensor, b: Tensor) -> int:
  c = torch.cat([a, b])
  if torch.eq(torch.dim(a), 2):
    d = torch.size(a, 0)
  else:
    d = int(torch.sum(c))
  return d
#? 2x3 4x3 n1 | 5x4 1x4 n2 ! 2x3 4x5 n3
def inside_of_a_branch(a: Tensor, b: Tensor, n: int) -> int:
  if torch.gt(n, 0):
    d = torch.size(torch.cat([a, b]), 1)
  else:
    d = torch.size(torch.cat([b, a]), 1)
  return d
#? 2x3 4x3 n1 | 5x4 1x4 n2 ! 2x3 4x5 n3
def inside_of_a_loop(a: Tensor, b: Tensor, n: int) -> int:
  d = 0
  for i in range(n):
    d = torch.add(d, torch.size(torch.cat([a, b]), 1))
  return d
#? 2x3 4x3 n1 | 5x4 1x4 n2 ! 2x3 4x5 n3
def inside_of_short_loop(a: Tensor, b: Tensor, n: int) -> int:
  d = 0
  for i in range(2):
    d = torch.add(d, torch.dim(torch.cat([a, b])))
  return d
