"""Writes the models of fixtures/ and what PyTorch gives for each: forward() returns a text.

Needs a Python with torch; nothing else in the repository does. Run by hand:
    python tests/torchscript/make_fixtures.py tests/torchscript/fixtures
"""
import sys, torch, enum, typing, warnings
from typing import *
warnings.filterwarnings("ignore")
import torch.nn as nn

def fill(m):
    with torch.no_grad():
        for i, p in enumerate(m.parameters()):
            p.copy_((torch.arange(p.numel(), dtype=torch.float32).reshape(p.shape) - i) / 8)
    return m

# F14: containers, weird names, typed container index.
@torch.jit.interface
class Step:
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass
class Double(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2
class AddOne(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1
class Containers(nn.Module):
    def __init__(self):
        super().__init__()
        self.items = nn.ModuleList([nn.Linear(2, 2), nn.ReLU(), Double()])
        self.named = nn.ModuleDict({"a": Double(), "b-c": nn.Linear(2, 2)})
        self.chain = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2))
        self.params = nn.ParameterList([nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))])
        self.register_buffer("0", torch.tensor([10., 20.]))
        self.none = None
        self.steps = nn.ModuleList([Double(), AddOne()])
        self.stepd = nn.ModuleDict({"d": Double(), "p": AddOne()})
    def forward(self) -> str:
        x = torch.tensor([[1., -2.]])
        for m in self.items:
            x = m(x)
        for k, m in self.named.items():
            x = m(x)
        x = self.chain(x)
        for p in self.params:
            x = x + p
        x = x + getattr(self, "0")
        n = 0
        for i in range(2):
            s: Step = self.steps[i]
            x = s.forward(x)
            n += i
        t: Step = self.stepd["p"]
        x = t.forward(x)
        return str(x) + " " + str(n) + " " + str(len(self.items)) + " " + str("a" in self.named)

# F15: interface attribute with two implementations.
@torch.jit.interface
class ModuleStep(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass
class UsesStep(nn.Module):
    step: ModuleStep
    def __init__(self, step):
        super().__init__()
        self.step = step
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.step.forward(x)
class Interfaces(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = UsesStep(Double())
        self.b = UsesStep(AddOne())
    def forward(self) -> str:
        return str(self.a(torch.ones(2) * 3)) + str(self.b(torch.ones(2) * 3))

# F16: hooks on a submodule.
class Hooked(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 3
class Hooks(nn.Module):
    def __init__(self):
        super().__init__()
        self.sub = Hooked()
    def forward(self) -> str:
        return str(self.sub(torch.ones(2)))
def pre(self, input: Tuple[torch.Tensor]) -> Tuple[torch.Tensor]:
    return (input[0] + 1,)
def post(self, input: Tuple[torch.Tensor], output: torch.Tensor) -> torch.Tensor:
    return output * 10 + input[0]
def hooks():
    m = Hooks()
    m.sub.register_forward_pre_hook(pre)
    m.sub.register_forward_hook(post)
    m.sub.register_forward_hook(post)
    return m

# F17: two classes of one name, functions of one name.
def make_same(k):
    class Same(nn.Module):
        def __init__(self):
            super().__init__()
            self.k = k
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.k if self.k > 1 else x - self.k
    return Same
class Mangled(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = make_same(1)()
        self.b = make_same(2)()
        class Same(nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x * 100
        self.c = Same()
    def forward(self) -> str:
        x = torch.ones(2)
        return str(self.a(x)) + str(self.b(x)) + str(self.c(x))

# F1, F11, F13: attributes of many types, shared objects.
class Color(enum.Enum):
    RED = 1
    BLUE = 2
class Pt(NamedTuple):
    a: int
    b: torch.Tensor
class Attributes(nn.Module):
    ints: List[int]
    d: Dict[str, float]
    opt: Optional[List[int]]
    pts: Dict[str, Pt]
    colors: List[Color]
    tup: Tuple[int, Pt, List[str]]
    others: List[Optional[torch.Tensor]]
    nested: Dict[int, List[Tuple[int, str]]]
    def __init__(self):
        super().__init__()
        self.i = -5; self.f = 2.5; self.b = True; self.s = "te\"x\nt"; self.c = 1 + 2j
        self.ints = [1, 2, 2**40, -2**63]
        self.d = {"b": 1.5, "a": float("inf")}
        self.opt = None
        self.pts = {"p": Pt(1, torch.ones(1))}
        self.colors = [Color.RED, Color.BLUE]
        self.tup = (1, Pt(2, torch.zeros(1)), ["x", "é"])
        self.others = [None, torch.ones(2)]
        self.nested = {1: [(1, "a")], 2: []}
        self.dev = torch.device("cpu")
        self.dt = torch.float16
        self.w = nn.Parameter(torch.arange(4.).reshape(2, 2))
        self.register_buffer("view", self.w.detach()[0])
    def forward(self) -> str:
        self.i += 1
        self.ints.append(7)
        self.view.add_(1)
        p = self.pts["p"]
        return str((self.i, self.f, self.b, self.s, self.c, self.ints, self.d, self.opt, p.a, p.b, self.colors,
                    self.tup[1].a, self.tup[2], self.others, self.nested, str(self.dev), self.w, self.view, len(self.tup[2][1])))

# F12: __getstate__ and __setstate__.
class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 3
        self.t = torch.ones(2)
    @torch.jit.export
    def __getstate__(self):
        return (self.n * 2, self.t + 1, self.training)
    @torch.jit.export
    def __setstate__(self, state: Tuple[int, torch.Tensor, bool]):
        self.n = state[0] + 100
        self.t = state[1] * 10
        self.training = state[2]
    def forward(self) -> str:
        return str((self.n, self.t))
class HoldsStateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Stateful()
    def forward(self) -> str:
        return self.inner.forward()

# F28, F27: no_grad, fork of a method.
class Sub(nn.Module):
    def forward(self, x: torch.Tensor, k: int = 2) -> torch.Tensor:
        return x * k
class ForkAndGrad(nn.Module):
    def __init__(self):
        super().__init__()
        self.sub = Sub()
    def forward(self) -> str:
        x = torch.ones(2)
        futures: List[torch.jit.Future[torch.Tensor]] = []
        for i in range(3):
            futures.append(torch.jit.fork(self.sub, x, i))
        total = torch.zeros(2)
        for f in futures:
            total = total + torch.jit.wait(f)
        with torch.no_grad():
            a = torch.is_grad_enabled()
        return str((total, a))

# F22: constants in the table: non-ASCII, long, functions as values.
class Constants(nn.Module):
    def forward(self) -> str:
        s = "é\u4e2d"
        l = ["ü", "b"]
        t = torch.tensor([1., 2.])
        d = {"ö": 1}
        return s + l[0] + str(len(s)) + str(t) + str(d) + "\x00\x7f\r"[0:0]

# F20: raising.
class Raises(nn.Module):
    def forward(self) -> str:
        x = torch.ones(2)
        if x.sum() > 1:
            raise ValueError("sum is {}".format(int(x.sum())))
        return "never"
class Failing(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Raises()
    def forward(self) -> str:
        return self.inner()

# Marks for profilers, by the context manager and by the older pair of operators.
class ProfilerMarks(nn.Module):
    def forward(self) -> str:
        x = torch.ones(2)
        with torch.autograd.profiler.record_function("outer"):
            with torch.autograd.profiler.record_function("inner", "two"):
                x = x * 3
            x = x + 1
        mark = torch.ops.profiler._record_function_enter("older")
        x = x - 0.5
        torch.ops.profiler._record_function_exit(mark)
        return str(x)

ALL = dict(containers=Containers, interfaces=Interfaces, hooks=hooks, mangled=Mangled, attributes=Attributes,
           stateful=HoldsStateful, fork_and_grad=ForkAndGrad, constants=Constants, failing=Failing, profiler_marks=ProfilerMarks)


def escaped(text):
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def main():
    folder = sys.argv[1]
    for name, make in ALL.items():
        torch.jit.script(fill(make().eval())).save(f"{folder}/{name}.pt")
        try:
            text = "#= " + torch.jit.load(f"{folder}/{name}.pt")()
        except Exception as error:  # The text is what is wanted, whatever it is.
            text = "#! " + str(error).strip().split("\n")[-1].removeprefix("RuntimeError: ")
        with open(f"{folder}/{name}.txt", "w", encoding="utf8") as file:
            file.write(escaped(text) + "\n")


if __name__ == "__main__":
    main()
