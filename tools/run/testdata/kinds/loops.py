"""Training as people write it by hand: loops, streams, graphs, precision, memory that is saved."""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from kinds import CUDA, OPTIMIZERS, define, program, train

half, brain = torch.float16, torch.bfloat16


class Block(nn.Module):
    """A residual block of convolutions."""

    def __init__(self, i, o, stride=1, norm=nn.BatchNorm2d):
        super().__init__()
        self.a, self.b = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.Conv2d(o, o, 3, 1, 1, bias=False)
        self.na, self.nb = norm(o), norm(o)
        self.short = nn.Identity() if i == o and stride == 1 else nn.Conv2d(i, o, 1, stride, bias=False)

    def forward(self, x):
        return F.relu(self.nb(self.b(F.relu(self.na(self.a(x))))) + self.short(x))


def small_resnet(classes=10, width=32, norm=nn.BatchNorm2d):
    return nn.Sequential(nn.Conv2d(3, width, 3, 1, 1, bias=False), Block(width, width, norm=norm), Block(width, 2 * width, 2, norm), Block(2 * width, 4 * width, 2, norm),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, classes))


class UNet(nn.Module):
    def __init__(self, width=32, out=2):
        super().__init__()
        w = [width, 2 * width, 4 * width]
        self.down = nn.ModuleList([Block(3, w[0]), Block(w[0], w[1]), Block(w[1], w[2])])
        self.up = nn.ModuleList([nn.ConvTranspose2d(w[2], w[1], 2, 2), nn.ConvTranspose2d(w[1], w[0], 2, 2)])
        self.join = nn.ModuleList([Block(w[2], w[1]), Block(w[1], w[0])])
        self.out = nn.Conv2d(w[0], out, 1)

    def forward(self, x):
        kept = []
        for k, d in enumerate(self.down):
            x = d(F.max_pool2d(x, 2) if k else x)
            kept.append(x)
        for u, j, skip in zip(self.up, self.join, kept[-2::-1]):
            x = j(torch.cat([u(x), skip], 1))
        return self.out(x)


def language_model(width=256, layers=4, heads=4, words=8000):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(512, width)
            self.layers = nn.ModuleList(nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True, norm_first=True) for _ in range(layers))
            self.out = nn.Linear(width, words, bias=False)

        def forward(self, x):
            n = x.shape[1]
            mask = nn.Transformer.generate_square_subsequent_mask(n, device=x.device)
            h = self.words(x) + self.places(torch.arange(n, device=x.device))
            for layer in self.layers:
                h = layer(h, src_mask=mask, is_causal=True)
            return self.out(h)

    return Net().to(CUDA)


def words_of(batch, length, words=8000):
    return torch.randint(0, words, (batch, length)).to(CUDA)


@program
def scaler_and_accumulation():
    m = small_resnet().to(CUDA)
    o, scaler = torch.optim.AdamW(m.parameters()), torch.amp.GradScaler(CUDA, init_scale=1024.0)
    for i in range(8):
        x, y = torch.randn(32, 3, 64, 64, device=CUDA), torch.randint(0, 10, (32,)).to(CUDA)
        with torch.autocast(CUDA, half):
            loss = F.cross_entropy(m(x), y) / 4
        scaler.scale(loss).backward()
        if i % 4 == 3:
            scaler.unscale_(o)
            nn.utils.clip_grad_norm_(m.parameters(), 1.0)
            scaler.step(o)
            scaler.update()
            o.zero_grad()


def unet(amp=None, channels_last=False):
    m = UNet().to(CUDA)
    m = m.to(memory_format=torch.channels_last) if channels_last else m

    def loss(_):
        x = torch.randn(4, 3, 128, 128, device=CUDA)
        x = x.to(memory_format=torch.channels_last) if channels_last else x
        y = m(x)
        t = torch.randint(0, 2, (4, 128, 128)).to(CUDA)
        hit = (y.softmax(1)[:, 1] * t).sum()
        return F.cross_entropy(y, t) + 1 - 2 * hit / (y.softmax(1)[:, 1].sum() + t.sum() + 1)

    train(m, loss, amp=amp)


define("unet_plain", unet)
define("unet_channels_last", unet, brain, True)
define("unet_half", unet, half)


@program
def replay_buffer():
    """Deep Q-learning: a buffer on the GPU, a copy of the network as the target."""
    m = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 6)).to(CUDA)
    target, o, n = copy.deepcopy(m), torch.optim.Adam(m.parameters()), 20000
    states, actions = torch.zeros(n, 32, device=CUDA), torch.zeros(n, dtype=torch.long, device=CUDA)
    rewards, ends = torch.zeros(n, device=CUDA), torch.zeros(n, dtype=torch.bool, device=CUDA)
    s, at = torch.randn(64, 32, device=CUDA), 0
    for step in range(24):
        with torch.no_grad():
            a = m(s).argmax(1)
            chance = torch.rand(64, device=CUDA) < 0.1
            a = torch.where(chance, torch.randint(0, 6, (64,), device=CUDA), a)
        rows = torch.arange(at, at + 64, device=CUDA) % n
        states[rows], actions[rows], rewards[rows] = s, a, torch.randn(64, device=CUDA)
        ends[rows] = torch.rand(64, device=CUDA) < 0.05
        at, s = at + 64, torch.randn(64, 32, device=CUDA)
        if step >= 4:
            pick = torch.randint(0, at, (256,), device=CUDA)
            with torch.no_grad():
                goal = rewards[pick] + 0.99 * target(states[(pick + 1) % n]).max(1).values * ~ends[pick]
            o.zero_grad()
            F.smooth_l1_loss(m(states[pick]).gather(1, actions[pick, None])[:, 0], goal).backward()
            nn.utils.clip_grad_value_(m.parameters(), 10)
            o.step()
        if step % 8 == 7:
            target.load_state_dict(m.state_dict())


@program
def soft_actor_critic():
    def net(i, o):
        return nn.Sequential(nn.Linear(i, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, o)).to(CUDA)
    actor, critics = net(24, 12), nn.ModuleList([net(30, 1), net(30, 1)])
    targets, alpha = copy.deepcopy(critics), torch.zeros(1, device=CUDA, requires_grad=True)
    oa, oc, ol = torch.optim.Adam(actor.parameters()), torch.optim.Adam(critics.parameters()), torch.optim.Adam([alpha])

    def act(s):
        mean, deviation = actor(s).chunk(2, -1)
        d = torch.distributions.Normal(mean, deviation.clamp(-5, 2).exp())
        raw = d.rsample()
        a = torch.tanh(raw)
        return a, (d.log_prob(raw) - torch.log(1 - a.square() + 1e-6)).sum(-1, keepdim=True)

    for _ in range(5):
        s, a, r, n = torch.randn(256, 24, device=CUDA), torch.rand(256, 6, device=CUDA), torch.randn(256, 1, device=CUDA), torch.randn(256, 24, device=CUDA)
        with torch.no_grad():
            b, p = act(n)
            goal = r + 0.99 * (torch.min(*[t(torch.cat([n, b], 1)) for t in targets]) - alpha.exp() * p)
        oc.zero_grad()
        sum(F.mse_loss(c(torch.cat([s, a], 1)), goal) for c in critics).backward()
        oc.step()
        b, p = act(s)
        oa.zero_grad()
        (alpha.exp().detach() * p - torch.min(*[c(torch.cat([s, b], 1)) for c in critics])).mean().backward()
        oa.step()
        ol.zero_grad()
        (-alpha * (p.detach() - 6)).mean().backward()
        ol.step()
        with torch.no_grad():
            for t, c in zip(targets.parameters(), critics.parameters()):
                t.lerp_(c, 0.005)


@program
def adaptive_softmax():
    """A language model with an LSTM and a softmax in clusters, whose sizes come from the words."""
    words, net = nn.Embedding(20000, 256).to(CUDA), nn.LSTM(256, 256, 2).to(CUDA)
    out = nn.AdaptiveLogSoftmaxWithLoss(256, 20000, [1000, 5000]).to(CUDA)
    train(nn.ModuleList([words, net, out]), lambda i: out(net(words(words_of(40, 16, 20000)))[0].flatten(0, 1), words_of(40, 16, 20000).flatten()).loss, "adagrad")


@program
def averaged_weights():
    """Averages of weights (EMA and SWA) and their batch norms."""
    from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn
    m = small_resnet().to(CUDA)
    ema, swa = AveragedModel(m, multi_avg_fn=get_ema_multi_avg_fn(0.99)), AveragedModel(m)
    o = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    schedule = SWALR(o, 0.05)
    for _ in range(4):
        o.zero_grad()
        F.cross_entropy(m(torch.randn(64, 3, 32, 32, device=CUDA)), torch.randint(0, 10, (64,)).to(CUDA), label_smoothing=0.1).backward()
        o.step()
        ema.update_parameters(m), swa.update_parameters(m), schedule.step()
    update_bn([torch.randn(64, 3, 32, 32) for _ in range(2)], swa, CUDA)


def checkpoints(reentrant):
    from torch.utils.checkpoint import checkpoint, checkpoint_sequential
    inner = nn.ModuleList(nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Dropout(0.1), nn.Linear(2048, 512)) for _ in range(6)).to(CUDA)
    tail = nn.Sequential(*(nn.Sequential(nn.Linear(512, 512), nn.ReLU()) for _ in range(6))).to(CUDA)

    def pair(x, k):
        return checkpoint(inner[k], checkpoint(inner[k + 1], x, use_reentrant=reentrant), use_reentrant=reentrant)

    def loss(_):
        x = torch.randn(64, 128, 512, device=CUDA, requires_grad=True)
        for k in (0, 2, 4):
            x = checkpoint(pair, x, k, use_reentrant=reentrant)
        return checkpoint_sequential(tail, 3, x, use_reentrant=reentrant).square().mean()

    train(nn.ModuleList([inner, tail]), loss, "adamw")


define("nested_checkpoints", checkpoints, False)
define("nested_checkpoints_reentrant", checkpoints, True)


@program
def chosen_checkpoints():
    """Checkpointing that keeps what products give."""
    import functools
    from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts
    kept = {torch.ops.aten.mm.default, torch.ops.aten.addmm.default}
    choose = functools.partial(create_selective_checkpoint_contexts, lambda c, op, *a, **k: CheckpointPolicy.MUST_SAVE if op in kept else CheckpointPolicy.PREFER_RECOMPUTE)
    m = nn.ModuleList(nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True, dropout=0.0) for _ in range(4)).to(CUDA)

    def loss(_):
        x = torch.randn(16, 128, 256, device=CUDA)
        for layer in m:
            x = checkpoint(layer, x, use_reentrant=False, context_fn=choose)
        return x.square().mean()

    train(m, loss, "adamw")


@program
def pinned_offload():
    m = language_model()

    def loss(_):
        x = words_of(8, 200)
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            return F.cross_entropy(m(x)[:, :-1].flatten(0, 1), x[:, 1:].flatten())

    train(m, loss, "adamw")


@program
def compressed_activations():
    """Saved tensors in eight bits."""
    m = nn.Sequential(*(nn.Sequential(nn.Linear(1024, 1024), nn.GELU()) for _ in range(6))).to(CUDA)

    def pack(t):
        if t.numel() < 4096 or not t.is_floating_point():
            return t
        scale = t.detach().abs().amax() / 127 + 1e-12
        return (t.detach() / scale).round().to(torch.int8), scale

    def unpack(p):
        return p if isinstance(p, torch.Tensor) else p[0].float() * p[1]

    def loss(_):
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            return m(torch.randn(512, 1024, device=CUDA)).square().mean()

    train(m, loss)


class Pictures(torch.utils.data.Dataset):
    def __len__(self):
        return 192

    def __getitem__(self, k):
        g = torch.Generator().manual_seed(k)
        return torch.randn(3, 48, 48, generator=g), k % 10


@program
def loader_with_workers():
    m = small_resnet().to(CUDA)
    o = torch.optim.AdamW(m.parameters())
    loader = torch.utils.data.DataLoader(Pictures(), 32, shuffle=True, num_workers=2, pin_memory=True, persistent_workers=True)
    right = torch.zeros((), dtype=torch.long, device=CUDA)
    for _ in range(2):
        m.train()
        for x, y in loader:
            x, y = x.to(CUDA, non_blocking=True), y.to(CUDA, non_blocking=True)
            o.zero_grad(set_to_none=False)
            F.cross_entropy(m(x), y).backward()
            o.step()
        m.eval()
        with torch.no_grad():
            for x, y in loader:
                right += (m(x.to(CUDA)).argmax(1) == y.to(CUDA)).sum()
        right.item()


@program
def prefetcher():
    """Batches are copied on a stream of their own, a batch ahead."""
    m, side = small_resnet().to(CUDA), torch.cuda.Stream()
    o = torch.optim.SGD(m.parameters(), lr=0.1)

    def load():
        with torch.cuda.stream(side):
            return torch.randn(64, 3, 64, 64).pin_memory().to(CUDA, non_blocking=True)

    following = load()
    for _ in range(5):
        torch.cuda.current_stream().wait_stream(side)
        x = following
        x.record_stream(torch.cuda.current_stream())
        following = load()
        o.zero_grad()
        m(x).logsumexp(1).mean().backward()
        o.step()
        torch.cuda.synchronize()


@program
def graphed_callables():
    a, b = (nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512)).to(CUDA) for _ in range(2))
    x = torch.randn(128, 512, device=CUDA, requires_grad=True)
    o = torch.optim.Adam([*a.parameters(), *b.parameters()], capturable=True)
    a, b = torch.cuda.make_graphed_callables((a, b), ((x,), (x,)))
    for _ in range(4):
        o.zero_grad(set_to_none=True)
        b(a(torch.randn(128, 512, device=CUDA, requires_grad=True))).square().mean().backward()
        o.step()


@program
def graphs_of_sizes():
    """A graph for each batch size, as servers have them, in one pool."""
    m, pool, graphs = language_model().eval(), torch.cuda.graph_pool_handle(), {}
    with torch.no_grad():
        for n in (16, 8, 4, 2, 1):
            x = words_of(n, 64)
            s = torch.cuda.Stream()
            s.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(s):
                m(x)
            torch.cuda.current_stream().wait_stream(s)
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g, pool=pool):
                y = m(x)
            graphs[n] = g, x, y
        for n, (g, x, y) in graphs.items():
            x.copy_(words_of(n, 64))
            g.replay()
            y.argmax(-1).tolist()


@program
def fp8_products():
    """Products of eight bits with scales, forwards and backwards."""
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(c, x, w):
            c.save_for_backward(x, w)
            return scaled(x, w.t())

        @staticmethod
        def backward(c, g):
            x, w = c.saved_tensors
            return scaled(g, w), scaled(g.t().contiguous(), x)

    def eight(t, kind):
        scale = (torch.finfo(kind).max / t.abs().max().float().clamp(min=1e-12)).reshape(())
        return (t * scale).to(kind), scale.reciprocal()

    def scaled(a, b):
        (a, s), (b, t) = eight(a, torch.float8_e4m3fn), eight(b.t().contiguous(), torch.float8_e4m3fn)
        return torch._scaled_mm(a.contiguous(), b.t(), scale_a=s, scale_b=t, out_dtype=brain)

    ws = [nn.Parameter(torch.randn(1024, 1024, device=CUDA, dtype=brain) / 32) for _ in range(4)]

    def loss(_):
        x = torch.randn(512, 1024, device=CUDA, dtype=brain)
        for w in ws:
            x = F.relu(Product.apply(x, w))
        return x.float().square().mean()

    train(nn.ParameterList(ws), loss, "adamw")


@program
def sparse_tensors():
    words = nn.Embedding(50000, 128, sparse=True).to(CUDA)
    o = torch.optim.SparseAdam(words.parameters())
    for n in (2000, 4000):
        o.zero_grad()
        words(torch.arange(n, device=CUDA) * 7 % 50000).square().sum().backward()
        o.step()
    rows, columns = torch.arange(30000, device=CUDA) % 3000, torch.arange(30000, device=CUDA) * 31 % 3000
    a = torch.sparse_coo_tensor(torch.stack([rows, columns]), torch.rand(30000, device=CUDA), (3000, 3000)).coalesce().requires_grad_()
    x = torch.randn(3000, 64, device=CUDA, requires_grad=True)
    torch.sparse.mm(a, x).square().sum().backward()
    torch.sparse.softmax(a.detach(), 1).to_dense().sum()
    c = a.detach().to_sparse_csr()
    (c @ x.detach()).sum().item()
    (a.detach() * 2 + a.detach()).coalesce().values().sum().item()


@program
def linear_algebra():
    a = torch.randn(4, 300, 300, device=CUDA)
    s = (a @ a.mT + 300 * torch.eye(300, device=CUDA)).requires_grad_()
    torch.linalg.eigh(s)[0].sum().backward()
    torch.linalg.cholesky(s).sum().backward()
    torch.linalg.inv(s).sum().backward()
    torch.linalg.slogdet(s)[1].sum().backward()
    torch.linalg.solve(s, a).sum().backward()
    with torch.no_grad():
        torch.linalg.svd(a[0], full_matrices=False)
        torch.linalg.svdvals(a)
        torch.linalg.qr(a)
        torch.linalg.pinv(a[0])
        torch.linalg.lstsq(a[0], a[1])
        torch.linalg.eigvalsh(s)
        torch.linalg.lu_factor(a)
        torch.linalg.matrix_norm(a, 2)


@program
def sound():
    """Spectra and their inverse, convolution by Fourier transforms."""
    window, m = torch.hann_window(512, device=CUDA), nn.Sequential(nn.Conv1d(257, 256, 3, padding=1), nn.ReLU(), nn.Conv1d(256, 257, 3, padding=1)).to(CUDA)

    def loss(_):
        x = torch.randn(8, 32000, device=CUDA)
        f = torch.stft(x, 512, 128, window=window, return_complex=True)
        y = torch.istft(f * torch.sigmoid(m(f.abs().log1p())), 512, 128, window=window, length=32000)
        k = torch.fft.rfft(x, 65536) * torch.fft.rfft(y, 65536)
        return (y - x).square().mean() + torch.fft.irfft(k)[:, :32000].square().mean()

    train(m, loss)


def compiled(backend):
    m = language_model(256, 2)
    call = torch.compile(m, backend=backend)

    def loss(_):
        x = words_of(8, 100)
        return F.cross_entropy(call(x)[:, :-1].flatten(0, 1), x[:, 1:].flatten())

    train(m, loss, "adamw")


define("compiled_eager", compiled, "eager")
define("compiled_aot", compiled, "aot_eager")
define("compiled_cudagraphs", compiled, "cudagraphs")


@program
def gan_spectral():
    norm = nn.utils.parametrizations.spectral_norm
    g = nn.Sequential(nn.ConvTranspose2d(64, 128, 4), nn.BatchNorm2d(128), nn.ReLU(), nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.BatchNorm2d(64), nn.ReLU(),
                      nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.BatchNorm2d(32), nn.ReLU(), nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh()).to(CUDA)
    d = nn.Sequential(norm(nn.Conv2d(3, 64, 4, 2, 1)), nn.LeakyReLU(0.2), norm(nn.Conv2d(64, 128, 4, 2, 1)), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(128 * 64, 1)).to(CUDA)
    og, od = (torch.optim.Adam(m.parameters(), betas=(0.5, 0.999)) for m in (g, d))
    for _ in range(4):
        x, fake = torch.randn(64, 3, 32, 32, device=CUDA), g(torch.randn(64, 64, 1, 1, device=CUDA))
        mix = torch.rand(64, 1, 1, 1, device=CUDA)
        between = (mix * x + (1 - mix) * fake.detach()).requires_grad_()
        slope, = torch.autograd.grad(d(between).sum(), between, create_graph=True)
        od.zero_grad()
        (d(fake.detach()).mean() - d(x).mean() + 10 * (slope.flatten(1).norm(dim=1) - 1).square().mean()).backward()
        od.step()
        og.zero_grad()
        (-d(fake).mean()).backward()
        og.step()


@program
def momentum_contrast():
    q = small_resnet(128).to(CUDA)
    k = copy.deepcopy(q).requires_grad_(False)
    queue, at = F.normalize(torch.randn(128, 4096, device=CUDA), dim=0), torch.zeros(1, dtype=torch.long, device=CUDA)
    o = torch.optim.SGD(q.parameters(), lr=0.03, momentum=0.9)
    for _ in range(4):
        x, y = torch.randn(64, 3, 48, 48, device=CUDA), torch.randn(64, 3, 48, 48, device=CUDA)
        with torch.no_grad():
            for a, b in zip(k.parameters(), q.parameters()):
                a.mul_(0.999).add_(b, alpha=0.001)
            shuffle = torch.randperm(64, device=CUDA)
            keys = F.normalize(k(y[shuffle]))[shuffle.argsort()]
        with torch.autocast(CUDA, brain):
            queries = F.normalize(q(x))
            logits = torch.cat([(queries * keys).sum(1, keepdim=True), queries @ queue.clone()], 1) / 0.07
            loss = F.cross_entropy(logits, torch.zeros(64, dtype=torch.long, device=CUDA))
        o.zero_grad()
        loss.backward()
        o.step()
        place = int(at)
        queue[:, place:place + 64] = keys.t()
        at[0] = (place + 64) % 4096


@program
def speech():
    """Convolutions, a recurrent network in both directions, and CTC."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = nn.Sequential(nn.Conv2d(1, 32, (11, 11), (2, 2), 5), nn.BatchNorm2d(32), nn.Hardtanh(0, 20), nn.Conv2d(32, 32, (11, 11), (2, 1), 5), nn.BatchNorm2d(32), nn.Hardtanh(0, 20))
            self.r, self.o = nn.GRU(32 * 20, 256, 2, bidirectional=True), nn.Linear(512, 29)

        def forward(self, x, n):
            h = self.c(x).flatten(1, 2).permute(2, 0, 1)
            h = nn.utils.rnn.pack_padded_sequence(h, n)
            return self.o(nn.utils.rnn.pad_packed_sequence(self.r(h)[0])[0]).log_softmax(-1)

    m = Net().to(CUDA)

    def loss(i):
        x, n = torch.randn(8, 1, 80, 300 + 40 * i, device=CUDA), torch.arange(8).neg() * 5 + 150 + 20 * i
        return F.ctc_loss(m(x, n), torch.randint(1, 29, (8, 30)).to(CUDA), n, torch.full((8,), 30), zero_infinity=True)

    train(m, loss)


@program
def newton_schulz():
    """Muon: the update is made orthogonal by products."""
    m = language_model(256, 3)
    matrices = [p for p in m.layers.parameters() if p.ndim == 2]
    other = torch.optim.AdamW([p for p in m.parameters() if all(p is not q for q in matrices)])
    momentum = [torch.zeros_like(p) for p in matrices]
    for _ in range(3):
        x = words_of(8, 128)
        with torch.autocast(CUDA, brain):
            loss = F.cross_entropy(m(x)[:, :-1].flatten(0, 1), x[:, 1:].flatten())
        loss.backward()
        other.step()
        with torch.no_grad():
            for p, b in zip(matrices, momentum):
                b.mul_(0.95).add_(p.grad)
                u = b.bfloat16()
                u = u.T if u.shape[0] > u.shape[1] else u
                u = u / (u.norm() + 1e-7)
                for _ in range(5):
                    a = u @ u.T
                    u = 3.4445 * u + (-4.775 * a + 2.0315 * a @ a) @ u
                p.add_(u.T.to(p) if p.shape[0] > p.shape[1] else u.to(p), alpha=-0.02)
        m.zero_grad()


def optimizers(*kinds):
    for kind in kinds:
        m = nn.Sequential(nn.Linear(700, 900), nn.ReLU(), nn.Linear(900, 10)).to(CUDA)
        o = getattr(torch.optim, kind)(m.parameters(), lr=0.01)
        for _ in range(3):
            o.zero_grad()
            m(torch.randn(256, 700, device=CUDA)).square().mean().backward()
            o.step()


define("other_optimizers", optimizers, "NAdam", "RAdam", "Adamax", "ASGD", "Rprop", "Adadelta")


@program
def step_in_backward():
    """An optimizer for each parameter, that steps as soon as its gradient is there."""
    m = language_model()
    each = {p: torch.optim.Adam([p], foreach=False) for p in m.parameters()}

    def step(p):
        each[p].step()
        p.grad = None

    for p in m.parameters():
        p.register_post_accumulate_grad_hook(step)
    for _ in range(3):
        x = words_of(8, 128)
        F.cross_entropy(m(x)[:, :-1].flatten(0, 1), x[:, 1:].flatten()).backward()


@program
def diffusion():
    """Training a denoiser with an average of its weights, and sampling from it."""
    m = UNet(32, 3).to(CUDA)
    average, o = copy.deepcopy(m).requires_grad_(False), torch.optim.AdamW(m.parameters())
    kept = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000, device=CUDA), 0)
    for _ in range(3):
        x, noise, t = torch.randn(8, 3, 64, 64, device=CUDA), torch.randn(8, 3, 64, 64, device=CUDA), torch.randint(0, 1000, (8,), device=CUDA)
        a = kept[t][:, None, None, None]
        o.zero_grad()
        F.mse_loss(m(a.sqrt() * x + (1 - a).sqrt() * noise), noise).backward()
        nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        o.step()
        torch._foreach_lerp_(list(average.parameters()), list(m.parameters()), 0.01)
    with torch.inference_mode():
        x = torch.randn(16, 3, 64, 64, device=CUDA)
        for t in range(999, 0, -200):
            x = x - average(x) * (1 - kept[t]).sqrt() + torch.randn_like(x) * 0.1
        x.clamp(-1, 1).cpu()


@program
def radiance_field():
    coarse, fine = (nn.Sequential(nn.Linear(63, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 4)).to(CUDA) for _ in range(2))

    def encode(x):
        return torch.cat([x] + [f(2 ** k * math.pi * x) for k in range(10) for f in (torch.sin, torch.cos)], -1)

    def render(net, origin, direction, z):
        raw = net(encode(origin[:, None] + direction[:, None] * z[..., None]))
        a = 1 - torch.exp(-F.relu(raw[..., 3]) * torch.cat([z.diff(dim=1), torch.full_like(z[:, :1], 1e10)], 1))
        w = a * torch.cumprod(torch.cat([torch.ones_like(a[:, :1]), 1 - a + 1e-10], 1), 1)[:, :-1]
        return (w[..., None] * torch.sigmoid(raw[..., :3])).sum(1), w

    def loss(_):
        origin, direction = torch.randn(1024, 3, device=CUDA), F.normalize(torch.randn(1024, 3, device=CUDA))
        z = torch.linspace(2, 6, 64, device=CUDA).expand(1024, 64)
        first, w = render(coarse, origin, direction, z)
        total = torch.cumsum(w.detach()[:, 1:-1] + 1e-5, 1)
        u = torch.rand(1024, 64, device=CUDA)
        more = z.gather(1, torch.searchsorted(total / total[:, -1:], u).clamp(max=62))
        second, _ = render(fine, origin, direction, torch.cat([z, more], 1).sort(1).values)
        return first.square().mean() + second.square().mean()

    train(nn.ModuleList([coarse, fine]), loss)


@program
def ragged_attention():
    """Nested tensors of sequences with different lengths."""
    q, out = nn.Linear(256, 768).to(CUDA, half), nn.Linear(256, 256).to(CUDA, half)

    def loss(i):
        lengths = [20 + 13 * k + 5 * i for k in range(12)]
        x = torch.nested.nested_tensor([torch.randn(n, 256, device=CUDA, dtype=half) for n in lengths], layout=torch.jagged)
        a, b, c = (t.unflatten(-1, [4, 64]).transpose(1, 2) for t in q(x).chunk(3, -1))
        return out(F.scaled_dot_product_attention(a, b, c).transpose(1, 2).flatten(2)).values().float().square().mean()

    train(nn.ModuleList([q, out]), loss, "sgd")


@program
def gradients_of_samples():
    from torch.func import functional_call, grad, hessian, jacrev, vmap
    m = nn.Sequential(nn.Conv2d(1, 16, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(16 * 144, 10)).to(CUDA)
    p = {k: v.detach() for k, v in m.named_parameters()}

    def loss(p, x, y):
        return F.cross_entropy(functional_call(m, p, (x[None],)), y[None])

    x, y = torch.randn(128, 1, 28, 28, device=CUDA), torch.randint(0, 10, (128,), device=CUDA)
    for _ in range(2):
        g = vmap(grad(loss), (None, 0, 0), randomness="different")(p, x, y)
        norms = torch.stack([v.flatten(1).norm(dim=1) for v in g.values()]).norm(dim=0)
        factor = (1 / norms).clamp(max=1)
        for k in p:
            p[k] = p[k] - 0.1 * torch.einsum("b,b...->...", factor, g[k])
    f = nn.Sequential(nn.Linear(20, 64), nn.Softplus(), nn.Linear(64, 1)).to(CUDA)
    z = torch.randn(50, 20, device=CUDA)
    vmap(jacrev(lambda v: f(v)))(z)
    vmap(hessian(lambda v: f(v).sum()))(z)


@program
def meta_learning():
    m = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 5)).to(CUDA)
    o = torch.optim.Adam(m.parameters())
    for _ in range(3):
        o.zero_grad()
        for _ in range(4):
            fast = dict(m.named_parameters())
            for _ in range(3):
                x, y = torch.randn(25, 64, device=CUDA), torch.arange(25, device=CUDA) % 5
                g = torch.autograd.grad(F.cross_entropy(torch.func.functional_call(m, fast, x), y), fast.values(), create_graph=True)
                fast = {k: p - 0.01 * d for (k, p), d in zip(fast.items(), g)}
            x, y = torch.randn(75, 64, device=CUDA), torch.arange(75, device=CUDA) % 5
            F.cross_entropy(torch.func.functional_call(m, fast, x), y).backward()
        o.step()


@program
def flow():
    """Coupling layers with masks."""
    nets = nn.ModuleList(nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 128)) for _ in range(6)).to(CUDA)

    def loss(_):
        x, log = torch.randn(2048, 64, device=CUDA), 0
        for k, n in enumerate(nets):
            mask = (torch.arange(64, device=CUDA) + k) % 2 == 0
            s, t = n(x * mask).chunk(2, 1)
            s = torch.tanh(s)[:, ~mask]
            x = x.clone()
            x[:, ~mask] = x[:, ~mask] * s.exp() + t[:, ~mask]
            log = log + s.sum(1)
        return (0.5 * x.square().sum(1) - log).mean()

    train(nets, loss)


@program
def cached_decoding():
    """Greedy decoding with a cache that is there from the start, until all texts have ended."""
    width, heads, most, batch = 256, 4, 96, 8
    words, layers = nn.Embedding(4000, width).to(CUDA, half), [[nn.Linear(width, 3 * width).to(CUDA, half), nn.Linear(width, width).to(CUDA, half)] for _ in range(4)]
    cache = torch.zeros(4, 2, batch, heads, most, width // heads, device=CUDA, dtype=half)
    lengths = torch.arange(batch, device=CUDA) * 4 + 40
    ended, x = torch.zeros(batch, dtype=torch.bool, device=CUDA), words_of(batch, 1, 4000)
    with torch.no_grad():
        for at in range(most):
            h = words(x)
            for k, (qkv, out) in enumerate(layers):
                q, a, b = (t.view(batch, 1, heads, -1).transpose(1, 2) for t in qkv(h).chunk(3, -1))
                cache[k, 0, :, :, at:at + 1], cache[k, 1, :, :, at:at + 1] = a, b
                seen = torch.arange(at + 1, device=CUDA)[None] < lengths[:, None]
                h = h + out(F.scaled_dot_product_attention(q, cache[k, 0, :, :, :at + 1], cache[k, 1, :, :, :at + 1], attn_mask=seen[:, None, None]).transpose(1, 2).reshape(batch, 1, width))
            x = (h @ words.weight.t()).argmax(-1)
            ended |= at >= lengths
            x = x.masked_fill(ended[:, None], 0)
            if ended.all():
                break


@program
def texts_of_lengths():
    """Batches by the number of words, padded, with losses only where words are; memory is given back in between."""
    m = language_model()
    o = torch.optim.AdamW(m.parameters())
    for step, (batch, length) in enumerate([(32, 40), (6, 210), (20, 64), (3, 400), (12, 107)]):
        lengths = torch.randint(length // 2, length, (batch,))
        real = torch.arange(length)[None] < lengths[:, None]
        x, real = words_of(batch, length), real.to(CUDA)
        y = m(x)[real]
        o.zero_grad()
        F.cross_entropy(y, x[real]).backward()
        o.step()
        if step == 2:
            torch.cuda.empty_cache()


@program
def smaller_batches():
    """The batch is halved when memory runs out."""
    m = nn.Sequential(nn.Linear(1024, 8192), nn.ReLU(), nn.Linear(8192, 1024)).to(CUDA)
    torch.cuda.set_per_process_memory_fraction(1.5e9 / torch.cuda.get_device_properties(0).total_memory)
    o, batch, steps = torch.optim.Adam(m.parameters()), 65536, 0
    while steps < 3:
        try:
            o.zero_grad()
            m(torch.randn(batch, 1024, device=CUDA)).square().mean().backward()
            o.step()
            steps += 1
        except torch.OutOfMemoryError:
            batch //= 2
            continue


@program
def master_weights():
    m = language_model().to(brain)
    masters = [p.detach().float().clone().requires_grad_() for p in m.parameters()]
    o = torch.optim.AdamW(masters, fused=True)
    for _ in range(3):
        x = words_of(8, 128)
        F.cross_entropy(m(x)[:, :-1].flatten(0, 1).float(), x[:, 1:].flatten()).backward()
        for a, p in zip(masters, m.parameters()):
            a.grad, p.grad = p.grad.float(), None
        o.step()
        o.zero_grad()
        with torch.no_grad():
            torch._foreach_copy_(list(m.parameters()), masters)


@program
def clusters():
    """k-means and nearest neighbours, in parts."""
    x = torch.randn(40000, 32, device=CUDA)
    centers = x[torch.randperm(40000)[:64].to(CUDA)].clone()
    for _ in range(4):
        which = torch.cat([torch.cdist(part, centers).argmin(1) for part in x.split(10000)])
        counts = torch.bincount(which, minlength=64).clamp(min=1)
        centers = torch.zeros_like(centers).index_add_(0, which, x) / counts[:, None]
    torch.cdist(x[:2000], x).topk(10, largest=False).indices.cpu()
    cells = torch.arange(40000, device=CUDA) * 37 % 1001
    kinds, inverse, counts = torch.unique(cells, return_inverse=True, return_counts=True)
    torch.zeros(len(kinds), 32, device=CUDA).scatter_reduce_(0, inverse[:, None].expand(-1, 32), x, "amax")


@program
def points():
    """A network on clouds of points: farthest points, neighbours, pooling."""
    a, b = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 128)).to(CUDA), nn.Sequential(nn.Linear(131, 256), nn.ReLU(), nn.Linear(256, 40)).to(CUDA)

    def farthest(x, n):
        chosen = torch.zeros(len(x), n, dtype=torch.long, device=CUDA)
        far, distance, rows = torch.zeros(len(x), dtype=torch.long, device=CUDA), torch.full(x.shape[:2], 1e10, device=CUDA), torch.arange(len(x), device=CUDA)
        for k in range(n):
            chosen[:, k] = far
            distance = torch.minimum(distance, (x - x[rows, far][:, None]).square().sum(-1))
            far = distance.argmax(-1)
        return chosen

    def loss(_):
        x = torch.randn(16, 1024, 3, device=CUDA)
        rows = torch.arange(16, device=CUDA)[:, None]
        centers = x[rows, farthest(x, 64)]
        near = torch.cdist(centers, x).topk(32, largest=False).indices
        group = x[rows[..., None], near]
        h = a(torch.cat([group - centers[:, :, None], group], -1)).max(2).values
        y = b(torch.cat([centers, h], -1)).max(1).values
        return F.cross_entropy(y, torch.arange(16, device=CUDA))

    train(nn.ModuleList([a, b]), loss)


@program
def detector():
    """A detector by hand: all that exceeds a threshold is suppressed among its class."""
    m = nn.Sequential(small_resnet()[:4], nn.Conv2d(128, 9, 1)).to(CUDA)

    def loss(_):
        y = m(torch.randn(4, 3, 128, 128, device=CUDA))
        boxes = torch.rand(4, 5, 4, device=CUDA)
        grid = torch.stack(torch.meshgrid(torch.arange(32, device=CUDA), torch.arange(32, device=CUDA), indexing="ij"), -1).view(-1, 2)
        inside = ((grid[None, :, None] > 32 * boxes[:, None, :, :2].min(dim=-1, keepdim=True).values) & (grid[None, :, None] < 20)).all(-1).any(-1)
        y = y.flatten(2).mT
        positive = y[inside]
        return F.binary_cross_entropy_with_logits(y[..., 0], inside.float()) + positive[:, 1:5].abs().sum() / max(1, len(positive))

    train(m, loss)


def volumes(amp=None):
    def block(i, o):
        return nn.Sequential(nn.Conv3d(i, o, 3, padding=1), nn.InstanceNorm3d(o, affine=True), nn.LeakyReLU(0.01), nn.Conv3d(o, o, 3, padding=1), nn.GroupNorm(4, o), nn.SiLU())
    a, b, up, c = block(1, 16), block(16, 32), nn.ConvTranspose3d(32, 16, 2, 2), block(32, 16)
    m = nn.ModuleList([a, b, up, c, nn.Conv3d(16, 3, 1)]).to(CUDA)

    def loss(_):
        x = torch.randn(2, 1, 32, 64, 64, device=CUDA)
        h = a(x)
        y = m[4](c(torch.cat([h, up(b(F.max_pool3d(h, 2)))], 1)))
        return F.cross_entropy(y, torch.randint(0, 3, (2, 32, 64, 64)).to(CUDA))

    train(m, loss, amp=amp)


define("volumes", volumes)
define("volumes_half", volumes, half)


@program
def mobile():
    """Inverted residuals with excitation, in half precision with channels innermost."""
    class Part(nn.Module):
        def __init__(self, i, o, stride):
            super().__init__()
            h = 4 * i
            self.a = nn.Sequential(nn.Conv2d(i, h, 1, bias=False), nn.BatchNorm2d(h), nn.SiLU(), nn.Conv2d(h, h, 3, stride, 1, groups=h, bias=False), nn.BatchNorm2d(h), nn.SiLU())
            self.s = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(h, i, 1), nn.SiLU(), nn.Conv2d(i, h, 1), nn.Sigmoid())
            self.b = nn.Sequential(nn.Conv2d(h, o, 1, bias=False), nn.BatchNorm2d(o))

        def forward(self, x):
            h = self.a(x)
            return self.b(h * self.s(h))

    m = nn.Sequential(nn.Conv2d(3, 24, 3, 2, 1), Part(24, 24, 1), Part(24, 48, 2), Part(48, 96, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(96, 100)).to(CUDA, memory_format=torch.channels_last)
    train(m, lambda _: F.cross_entropy(m(torch.randn(32, 3, 128, 128, device=CUDA).to(memory_format=torch.channels_last)), torch.randint(0, 100, (32,)).to(CUDA)), amp=brain, optimizer="rmsprop")


@program
def super_resolution():
    m = nn.Sequential(nn.Conv2d(3, 64, 3, 1, 1), *(Block(64, 64, norm=nn.Identity) for _ in range(4)), nn.Conv2d(64, 256, 3, 1, 1), nn.PixelShuffle(2), nn.PReLU(), nn.Conv2d(64, 3, 3, 1, 1)).to(CUDA)
    seen = small_resnet()[:4].to(CUDA).eval().requires_grad_(False)

    def loss(_):
        x = torch.rand(8, 3, 96, 96, device=CUDA)
        y = m(F.interpolate(x, scale_factor=0.5, mode="bicubic", antialias=True))
        return F.l1_loss(y, x) + F.mse_loss(seen(y), seen(x)) + (y.diff(dim=2).abs().mean() + y.diff(dim=3).abs().mean())

    train(m, loss)


@program
def streams_of_experts():
    """Branches on streams of their own, joined by events."""
    branches = nn.ModuleList(nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)) for _ in range(3)).to(CUDA)
    streams = [torch.cuda.Stream() for _ in branches]

    def loss(_):
        x, parts = torch.randn(1024, 512, device=CUDA), []
        for s, b in zip(streams, branches):
            s.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(s):
                parts.append(b(x))
        for s in streams:
            torch.cuda.current_stream().wait_stream(s)
        return torch.stack(parts).square().mean()

    train(branches, loss)
    torch.cuda.synchronize()


@program
def own_pool():
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        kept = [torch.empty(n << 20, dtype=torch.uint8, device=CUDA) for n in (3, 30, 11)]
    m = nn.Linear(2048, 2048).to(CUDA)
    train(m, lambda _: m(torch.randn(512, 2048, device=CUDA)).square().mean())
    del kept, pool
    torch.cuda.empty_cache()


@program
def scripted():
    m = nn.Sequential(nn.Conv2d(3, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(1024, 10)).to(CUDA)
    traced = torch.jit.trace(m.eval(), torch.randn(2, 3, 64, 64, device=CUDA))
    with torch.no_grad():
        for _ in range(3):
            traced(torch.randn(32, 3, 64, 64, device=CUDA))
    s = torch.jit.script(m.train())
    train(s, lambda _: s(torch.randn(16, 3, 64, 64, device=CUDA)).square().mean())


@program
def classifier_of_texts():
    """An encoder with padding in training and, by its fast path, in evaluation."""
    words, out = nn.Embedding(10000, 256, padding_idx=0).to(CUDA), nn.Linear(256, 4).to(CUDA)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True), 3).to(CUDA)
    m = nn.ModuleList([words, encoder, out])

    def logits(length):
        x = words_of(16, length, 9999) + 1
        x[torch.arange(length, device=CUDA)[None] >= torch.arange(16, device=CUDA)[:, None] * 3 + length - 48] = 0
        hidden = x == 0
        h = encoder(words(x), src_key_padding_mask=hidden)
        return out((h * ~hidden[..., None]).sum(1) / (~hidden).sum(1, keepdim=True))

    train(m, lambda i: F.cross_entropy(logits(80 + 16 * i), torch.arange(16, device=CUDA) % 4), "adamw")
    m.eval()
    with torch.inference_mode():
        logits(120).softmax(-1).tolist()


@program
def state_space():
    """A selective scan in plain PyTorch."""
    proj, out = nn.Linear(192, 2 * 384 + 2 * 16 + 384).to(CUDA), nn.Linear(384, 192).to(CUDA)
    a, conv = nn.Parameter(torch.randn(384, 16, device=CUDA)), nn.Conv1d(384, 384, 4, padding=3, groups=384).to(CUDA)

    def loss(_):
        x, z, b, c, d = proj(torch.randn(8, 96, 192, device=CUDA)).split([384, 384, 16, 16, 384], -1)
        x = F.silu(conv(x.mT)[..., :96].mT)
        d = F.softplus(d)
        h, ys = torch.zeros(8, 384, 16, device=CUDA), []
        for t in range(96):
            h = h * torch.exp(-d[:, t, :, None] * a.exp()) + d[:, t, :, None] * x[:, t, :, None] * b[:, t, None]
            ys.append((h * c[:, t, None]).sum(-1))
        return out(torch.stack(ys, 1) * F.silu(z)).square().mean()

    train(nn.ModuleList([proj, out, conv, nn.ParameterList([a])]), loss)


@program
def quantized_lora():
    """Weights of eight bits that are fixed, and small ones that learn."""
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("w", torch.randint(-127, 127, (1024, 1024), dtype=torch.int8))
            self.register_buffer("scale", torch.rand(1024, 1))
            self.a, self.b = nn.Parameter(torch.randn(1024, 16) / 32), nn.Parameter(torch.zeros(16, 1024))

        def forward(self, x):
            return x @ (self.w.to(x.dtype) * self.scale.to(x.dtype)).t() + x @ self.a.to(x.dtype) @ self.b.to(x.dtype)

    m = nn.Sequential(*(nn.Sequential(Layer(), nn.GELU()) for _ in range(5))).to(CUDA)
    train(m, lambda _: m(torch.randn(8, 256, 1024, device=CUDA, dtype=brain)).float().square().mean(), "adamw")


@program
def saved_and_loaded():
    """A checkpoint in memory in between, with the optimizer's state."""
    import io
    m = language_model()
    o = torch.optim.AdamW(m.parameters(), amsgrad=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=10)

    def steps():
        for _ in range(2):
            x = words_of(4, 200)
            o.zero_grad()
            F.cross_entropy(m(x)[:, :-1].flatten(0, 1), x[:, 1:].flatten()).backward()
            o.step(), schedule.step()

    steps()
    file = io.BytesIO()
    torch.save({"m": m.state_dict(), "o": o.state_dict()}, file)
    file.seek(0)
    state = torch.load(file, map_location=CUDA)
    m.load_state_dict(state["m"]), o.load_state_dict(state["o"])
    steps()


@program
def distillation():
    teacher, m = small_resnet(100, 64).to(CUDA).eval().requires_grad_(False), small_resnet(100, 16).to(CUDA)
    seen = []
    teacher[3].register_forward_hook(lambda _, __, y: seen.append(y))

    def loss(i):
        x = torch.randn(64, 3, 48, 48, device=CUDA)
        with torch.no_grad():
            t = teacher(x)
        mixed = torch.randperm(64, device=CUDA)
        s = m(0.7 * x + 0.3 * x[mixed])
        kept = seen.pop()
        return F.kl_div(F.log_softmax(s / 4, 1), F.softmax(t / 4, 1), reduction="batchmean") + 0 * kept.mean()

    train(m, loss, amp=brain)


@program
def weights_by_hooks():
    """Weight norm, and weights that move between host and device layer by layer."""
    layers = nn.ModuleList(nn.utils.parametrizations.weight_norm(nn.Linear(1024, 1024)) for _ in range(6))
    for layer in layers:
        layer.register_forward_pre_hook(lambda m, _: m.to(CUDA) and None)
        layer.register_forward_hook(lambda m, _, __: m.to("cpu") and None)
    with torch.no_grad():
        for _ in range(3):
            x = torch.randn(256, 1024, device=CUDA)
            for layer in layers:
                x = torch.relu(layer(x))


@program
def tables():
    """Attention over columns of a table, many small embeddings."""
    columns = nn.ModuleList(nn.Embedding(50 + 30 * k, 32) for k in range(24)).to(CUDA)
    encoder, out = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 128, batch_first=True, activation="gelu"), 3).to(CUDA), nn.Linear(32, 1).to(CUDA)

    def loss(_):
        x = torch.stack([torch.randint(0, 50, (2048,)) for _ in columns], 1).to(CUDA)
        h = torch.stack([c(x[:, k]) for k, c in enumerate(columns)], 1)
        h = torch.cat([torch.zeros(2048, 1, 32, device=CUDA), h], 1)
        return F.binary_cross_entropy_with_logits(out(encoder(h)[:, 0])[:, 0], (x[:, 0] > 20).float())

    train(nn.ModuleList([columns, encoder, out]), loss, "adamw", brain, clip=True)


@program
def random_features():
    """Losses with masks of what is random, quantiles and medians."""
    m = nn.Sequential(nn.Linear(256, 1024), nn.ELU(), nn.AlphaDropout(0.1), nn.Linear(1024, 256)).to(CUDA)

    def loss(_):
        x = torch.randn(4096, 256, device=CUDA)
        hidden = torch.rand(4096, 256, device=CUDA) < 0.15
        y = m(x.masked_fill(hidden, 0))
        error = (y - x).square()
        hardest = error.mean(1).topk(1024).indices
        return (error * hidden).sum() / hidden.sum().clamp(min=1) + error[hardest].mean() + y.quantile(0.9, dim=1).mean() + y.median(1).values.mean()

    train(m, loss)


def with_optimizer(kind):
    m = language_model()
    o = OPTIMIZERS[kind](m.parameters())
    for _ in range(3):
        x = words_of(8, 128)
        o.zero_grad()
        F.cross_entropy(m(x)[:, :-1].flatten(0, 1), x[:, 1:].flatten()).backward()
        o.step()


for kind in ("sgd", "fused", "loop", "adafactor"):
    define(f"language_model_{kind}", with_optimizer, kind)
