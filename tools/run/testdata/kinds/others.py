"""Recurrent networks, graphs, and what people write themselves."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from kinds import CUDA, define, program, train

half, brain = torch.float16, torch.bfloat16


def recurrent(kind, amp=None, packed=False, cast=None, sizes=(96, 256), batch=32, steps=3, optimizer="adam", **how):
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
    net = getattr(nn, kind)(sizes[0], sizes[1], batch_first=True, **how).to(CUDA, cast)
    width = (how.get("proj_size") or sizes[1]) * (2 if how.get("bidirectional") else 1)
    m = nn.ModuleList([net, nn.Linear(width, 50).to(CUDA, cast)])

    def loss(i):
        longest = 60 + 20 * i
        x = torch.randn(batch, longest, sizes[0], device=CUDA, dtype=cast)
        if packed:
            x = pack_padded_sequence(x, [max(5, longest - 2 * k) for k in range(batch)], batch_first=True)
        y = net(x)[0]
        y = pad_packed_sequence(y, batch_first=True)[0] if packed else y
        return m[1](y).float().square().mean()

    train(m, loss, optimizer, amp, steps)


define("lstm_dropout", recurrent, "LSTM", num_layers=3, dropout=0.2)
define("lstm_projection", recurrent, "LSTM", num_layers=2, proj_size=128, dropout=0.3)
define("lstm_projection_both", recurrent, "LSTM", num_layers=2, proj_size=64, bidirectional=True, packed=True)
define("lstm_both_dropout", recurrent, "LSTM", num_layers=2, dropout=0.5, bidirectional=True, amp=half)
define("lstm_half", recurrent, "LSTM", sizes=(128, 256), cast=half)
define("gru_dropout", recurrent, "GRU", num_layers=3, dropout=0.2, packed=True, optimizer="sgd")
define("gru_both", recurrent, "GRU", num_layers=2, bidirectional=True, dropout=0.1, amp=brain)
define("rnn_tanh", recurrent, "RNN", num_layers=2, dropout=0.2)
define("rnn_relu_both", recurrent, "RNN", num_layers=2, bidirectional=True, nonlinearity="relu")


@program
def recurrent_language_model():
    """Truncated back-propagation with dropout and shared weights, evaluation between epochs."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.net, self.out = nn.Embedding(8000, 400), nn.LSTM(400, 400, 2, dropout=0.5), nn.Linear(400, 8000)
            self.out.weight, self.drop = self.words.weight, nn.Dropout(0.5)

        def forward(self, x, state):
            y, state = self.net(self.drop(self.words(x)), state)
            return self.out(self.drop(y)), state

    m = Net().to(CUDA)
    o, state = torch.optim.SGD(m.parameters(), lr=1.0), None
    for i in range(6):
        m.train(i % 3 < 2)
        x = torch.randint(0, 8000, (35, 20)).to(CUDA)
        state = tuple(s.detach() for s in state) if state else None
        y, state = m(x, state)
        if m.training:
            o.zero_grad()
            F.cross_entropy(y.flatten(0, 1), x.flatten()).backward()
            nn.utils.clip_grad_norm_(m.parameters(), 0.25)
            o.step()


@program
def translation():
    """An encoder and decoder with cells and attention, as in tutorials."""
    words, enc = nn.Embedding(5000, 256).to(CUDA), nn.GRU(256, 256, bidirectional=True, batch_first=True).to(CUDA)
    cell, score, out = nn.LSTMCell(256 + 512, 512).to(CUDA), nn.Linear(512, 512).to(CUDA), nn.Linear(512, 5000).to(CUDA)
    m = nn.ModuleList([words, enc, cell, score, out])

    def loss(_):
        x, y = torch.randint(0, 5000, (16, 30)).to(CUDA), torch.randint(0, 5000, (16, 20)).to(CUDA)
        h, total = enc(words(x))[0], 0
        s = (torch.zeros(16, 512, device=CUDA), torch.zeros(16, 512, device=CUDA))
        for t in range(19):
            a = torch.softmax(torch.einsum("bld,bd->bl", h, score(s[0])), -1)
            s = cell(torch.cat([words(y[:, t]), torch.einsum("bl,bld->bd", a, h)], -1), s)
            total = total + F.cross_entropy(out(s[0]), y[:, t + 1])
        return total

    train(m, loss)


def graph(layer, **more):
    import torch_geometric.nn as g
    kind = getattr(g, layer)
    if layer == "GINConv":
        a, b = (kind(nn.Sequential(nn.Linear(i, o), nn.ReLU(), nn.Linear(o, o))) for i, o in ((64, 128), (128, 16)))
    elif layer == "GATConv":
        a, b = kind(64, 32, heads=4), kind(128, 16, heads=1)
    else:
        a, b = kind(64, 128, **more), kind(128, 16, **more)
    m = nn.ModuleList([a, b]).to(CUDA)

    def loss(i):
        n = 6000 + 1000 * i
        x, e = torch.randn(n, 64, device=CUDA), torch.randint(0, n, (2, 6 * n)).to(CUDA)
        also = (torch.randint(0, 3, (6 * n,)).to(CUDA),) if layer == "RGCNConv" else ()
        y = b(F.dropout(F.relu(a(x, e, *also))), e, *also)
        pooled = g.global_mean_pool(y, torch.arange(n, device=CUDA) // 100)
        return pooled.square().mean() + F.cross_entropy(y, torch.zeros(n, dtype=torch.long, device=CUDA))

    train(m, loss)


define("graph_gat", graph, "GATConv")
define("graph_sage", graph, "SAGEConv")
define("graph_gin", graph, "GINConv")
define("graph_relations", graph, "RGCNConv", num_relations=3)


@program
def experts():
    """A mixture of experts that is written by hand: a loop over experts, and masks."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(256, 4)
            self.experts = nn.ModuleList(nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)) for _ in range(4))

        def forward(self, x):
            w, which = self.gate(x).softmax(-1).topk(2)
            y = torch.zeros_like(x)
            for k, e in enumerate(self.experts):
                row, slot = (which == k).nonzero(as_tuple=True)
                y.index_add_(0, row, e(x[row]) * w[row, slot, None])
            return y

    m = Net().to(CUDA)
    train(m, lambda _: m(torch.randn(4096, 256, device=CUDA)).square().mean())


@program
def recommender():
    tables = nn.ModuleList(nn.EmbeddingBag(20000, 64, mode="sum") for _ in range(8)).to(CUDA)
    top = nn.Sequential(nn.Linear(64 * 8 + 13, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1)).to(CUDA)

    def loss(_):
        parts = [t(torch.randint(0, 20000, (4096 * 3,)).to(CUDA), torch.arange(0, 4096 * 3, 3, device=CUDA)) for t in tables]
        return F.binary_cross_entropy_with_logits(top(torch.cat(parts + [torch.randn(4096, 13, device=CUDA)], 1)).squeeze(1), torch.ones(4096, device=CUDA))

    train(nn.ModuleList([tables, top]), loss, "adagrad")


@program
def policy_gradient():
    m = nn.ModuleList([nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh()), nn.Linear(256, 8), nn.Linear(256, 1)]).to(CUDA)
    o = torch.optim.Adam(m.parameters())
    for _ in range(3):
        seen, chosen = [], []
        with torch.no_grad():
            for _ in range(16):
                s = torch.randn(256, 64, device=CUDA)
                chosen.append(torch.distributions.Categorical(logits=m[1](m[0](s))).sample())
                seen.append(s)
        s, a = torch.cat(seen), torch.cat(chosen)
        for part in torch.randperm(len(s), device=CUDA).split(1024):
            h = m[0](s[part])
            d = torch.distributions.Categorical(logits=m[1](h))
            o.zero_grad()
            (-(d.log_prob(a[part])).mean() - 0.01 * d.entropy().mean() + m[2](h).square().mean()).backward()
            o.step()


@program
def wave_network():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Conv1d(1, 64, 1), nn.Conv1d(64, 256, 1)
            self.layers = nn.ModuleList(nn.Conv1d(64, 128, 2, dilation=2 ** (k % 8), padding=2 ** (k % 8)) for k in range(12))

        def forward(self, x):
            h = self.first(x)
            for l in self.layers:
                a, b = l(h)[..., :h.shape[-1]].chunk(2, 1)
                h = h + torch.tanh(a) * torch.sigmoid(b)
            return self.last(h)

    m = Net().to(CUDA)
    train(m, lambda _: F.cross_entropy(m(torch.randn(8, 1, 8000, device=CUDA)), torch.zeros(8, 8000, dtype=torch.long, device=CUDA)))


def transformer(amp=None, **how):
    m = nn.Transformer(256, 8, 3, 3, 1024, batch_first=True).to(CUDA)
    mask = nn.Transformer.generate_square_subsequent_mask(100, device=CUDA)
    train(m, lambda _: m(torch.randn(16, 120, 256, device=CUDA), torch.randn(16, 100, 256, device=CUDA), tgt_mask=mask).square().mean(), amp=amp, **how)


define("nn_transformer", transformer)
define("nn_transformer_amp", transformer, half, clip=True)


@program
def two_networks_of_gradients():
    """Second derivatives: a penalty on the gradient, and a network's inner steps."""
    m = nn.Sequential(nn.Linear(128, 512), nn.SiLU(), nn.Linear(512, 512), nn.SiLU(), nn.Linear(512, 1)).to(CUDA)

    def loss(_):
        x = torch.randn(2048, 128, device=CUDA, requires_grad=True)
        g, = torch.autograd.grad(m(x).sum(), x, create_graph=True)
        return (g.norm(dim=1) - 1).square().mean()

    train(m, loss)


@program
def captured_graph():
    m = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).to(CUDA)
    o = torch.optim.Adam(m.parameters(), capturable=True)
    x = torch.randn(256, 1024, device=CUDA)

    def step():
        o.zero_grad(set_to_none=True)
        m(x).square().mean().backward()
        o.step()

    s = torch.cuda.Stream()
    s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(s)
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        step()
    for _ in range(5):
        g.replay()


@program
def fourier_operator():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.c = nn.Parameter(torch.randn(32, 32, 12, 12, dtype=torch.cfloat) / 1024), nn.Conv2d(32, 32, 1)

        def forward(self, x):
            f = torch.fft.rfft2(x)
            g = torch.zeros_like(f)
            g[:, :, :12, :12] = torch.einsum("bixy,ioxy->boxy", f[:, :, :12, :12], self.w)
            return F.gelu(torch.fft.irfft2(g, s=x.shape[-2:]) + self.c(x))

    m = nn.Sequential(nn.Conv2d(1, 32, 1), *(Layer() for _ in range(4)), nn.Conv2d(32, 1, 1)).to(CUDA)
    train(m, lambda _: m(torch.randn(16, 1, 128, 128, device=CUDA)).square().mean())


@program
def gaussian_process():
    x = torch.rand(1500, 4, device=CUDA)
    scale = torch.ones((), device=CUDA, requires_grad=True)
    o = torch.optim.Adam([scale])
    for _ in range(3):
        k = torch.exp(-torch.cdist(x, x).square() / scale) + 0.1 * torch.eye(1500, device=CUDA)
        l = torch.linalg.cholesky(k)
        o.zero_grad()
        (torch.cholesky_solve(x[:, :1], l).square().sum() + l.diagonal().log().sum()).backward()
        o.step()


@program
def second_order():
    m = nn.Sequential(nn.Linear(256, 512), nn.Tanh(), nn.Linear(512, 10)).to(CUDA)
    o = torch.optim.LBFGS(m.parameters(), max_iter=4)
    x = torch.randn(1024, 256, device=CUDA)
    for _ in range(2):
        def closure():
            o.zero_grad()
            loss = m(x).square().mean()
            loss.backward()
            return loss
        o.step(closure)


@program
def offloaded():
    """Activations on the host, and blocks whose forward pass is done again."""
    from torch.utils.checkpoint import checkpoint
    blocks = nn.ModuleList(nn.TransformerEncoderLayer(384, 6, 1536, batch_first=True) for _ in range(4)).to(CUDA)

    def loss(_):
        x = torch.randn(16, 200, 384, device=CUDA)
        with torch.autograd.graph.save_on_cpu():
            x = blocks[0](x)
        for b in blocks[1:]:
            x = checkpoint(b, x, use_reentrant=False)
        return x.square().mean()

    train(blocks, loss, "adamw")
