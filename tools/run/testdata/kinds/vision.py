"""Networks for images and video: torchvision, timm, diffusers, and transformers' vision models."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from kinds import CUDA, define, program, train


def classifier(model, batch, size=224, channels_last=False, compiled=False, checkpoint=False, **how):
    form = torch.channels_last if channels_last else torch.contiguous_format
    model = model.to(CUDA, memory_format=form)
    if checkpoint:
        model.set_grad_checkpointing()
    call = torch.compile(model) if compiled else model

    def loss(_):
        x = torch.randn(batch, 3, size, size).to(CUDA, memory_format=form)
        y = call(x)
        y = y.logits if hasattr(y, "logits") else y
        return F.cross_entropy(y, torch.zeros(batch, dtype=torch.long, device=CUDA))

    train(model, loss, **how)


def tv(name, batch, **how):
    import torchvision
    more = {"init_weights": True} if name in ("googlenet", "inception_v3") else {}
    classifier(getattr(torchvision.models, name)(weights=None, **more), batch, **how)


def timm(name, batch, **how):
    import timm
    classifier(timm.create_model(name), batch, **how)


half, brain = torch.float16, torch.bfloat16
for name, batch, how in [
    ("mobilenet_v2", 16, dict(optimizer="sgd")), ("mobilenet_v3_large", 4, {}), ("efficientnet_b0", 16, dict(amp=half)),
    ("convnext_tiny", 8, dict(optimizer="adamw", amp=brain)), ("swin_t", 8, dict(optimizer="adamw")), ("vit_b_16", 8, dict(amp=half)),
    ("regnet_y_400mf", 32, dict(optimizer="sgd")), ("mnasnet1_0", 64, {}), ("googlenet", 16, dict(optimizer="sgd")),
    ("inception_v3", 8, dict(size=299)), ("resnext50_32x4d", 16, dict(optimizer="sgd", amp=half, channels_last=True)),
    ("wide_resnet50_2", 4, {}), ("shufflenet_v2_x1_0", 64, dict(optimizer="rmsprop")), ("squeezenet1_1", 32, {}), ("alexnet", 64, dict(optimizer="sgd")),
    ("densenet169", 4, dict(amp=brain)), ("maxvit_t", 4, dict(optimizer="adamw")), ("resnet50", 32, dict(optimizer="sgd", amp=brain, channels_last=True)),
    ("resnet101", 16, dict(amp=half)), ("vgg11", 16, dict(optimizer="sgd", amp=half)),
]:
    define("tv_" + name, tv, name, batch, **how)
define("tv_resnet50_fp32", tv, "resnet50", 16, optimizer="sgd")
define("tv_resnet18_compiled", tv, "resnet18", 32, compiled=True)
for name, batch, how in [
    ("resnet50", 24, dict(optimizer="sgd", amp=half, channels_last=True)), ("efficientnetv2_rw_t", 8, dict(amp=half, optimizer="rmsprop")),
    ("convnextv2_atto", 16, dict(optimizer="adamw", channels_last=True)), ("deit_small_patch16_224", 16, dict(optimizer="adamw", amp=brain)),
    ("mixer_s32_224", 16, {}), ("mobilevit_xs", 8, dict(size=256)), ("vit_small_patch16_224", 16, dict(checkpoint=True, optimizer="fused")),
    ("regnety_008", 16, dict(optimizer="sgd", clip=True)), ("hrnet_w18_small", 8, {}),
]:
    define("timm_" + name, timm, name, batch, **how)


def detector(name, keypoints=False, **more):
    import torchvision
    m = getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None, num_classes=2 if keypoints else 21, **more).to(CUDA)

    def loss(_):
        images, targets = [], []
        for k in range(2):
            images.append(torch.rand(3, 320 + 64 * k, 400).to(CUDA))
            boxes = torch.tensor([[20.0, 30.0, 180.0, 200.0], [50.0, 60.0, 300.0, 310.0]]).to(CUDA)
            target = {"boxes": boxes, "labels": torch.ones(2, dtype=torch.long).to(CUDA)}
            if name.startswith("mask"):
                target["masks"] = torch.ones(2, 320 + 64 * k, 400, dtype=torch.uint8).to(CUDA)
            if keypoints:
                target["keypoints"] = torch.ones(2, 17, 3).to(CUDA) * 100
            targets.append(target)
        return sum(m(images, targets).values())

    train(m, loss, "sgd", steps=2)


define("faster_rcnn", detector, "fasterrcnn_resnet50_fpn")
define("mask_rcnn", detector, "maskrcnn_resnet50_fpn")
define("retinanet", detector, "retinanet_resnet50_fpn")
define("fcos", detector, "fcos_resnet50_fpn")
define("ssdlite", detector, "ssdlite320_mobilenet_v3_large")


@program
def deeplab():
    import torchvision
    m = torchvision.models.segmentation.deeplabv3_resnet50(weights=None, weights_backbone=None, num_classes=21).to(CUDA)
    train(m, lambda _: F.cross_entropy(m(torch.randn(4, 3, 256, 256).to(CUDA))["out"], torch.zeros(4, 256, 256, dtype=torch.long, device=CUDA)), "sgd")


@program
def video_r3d():
    import torchvision
    m = torchvision.models.video.r3d_18(weights=None).to(CUDA)
    train(m, lambda _: F.cross_entropy(m(torch.randn(4, 3, 8, 112, 112).to(CUDA)), torch.zeros(4, dtype=torch.long, device=CUDA)), "sgd")


def segformer(**how):
    from transformers import SegformerConfig, SegformerForSemanticSegmentation
    m = SegformerForSemanticSegmentation(SegformerConfig(num_labels=10)).to(CUDA)
    train(m, lambda _: m(torch.randn(4, 3, 256, 256).to(CUDA), labels=torch.zeros(4, 256, 256, dtype=torch.long, device=CUDA)).loss, **how)


define("segformer", segformer)
define("segformer_amp", segformer, amp=half)


@program
def clip():
    from transformers import CLIPConfig, CLIPModel
    m = CLIPModel(CLIPConfig()).to(CUDA)

    def loss(_):
        x = torch.randint(5, 40000, (8, 77)).to(CUDA)
        return m(input_ids=x, pixel_values=torch.randn(8, 3, 224, 224).to(CUDA), return_loss=True).loss

    train(m, loss, "adamw", amp=brain)


@program
def vit_mae():
    from transformers import ViTMAEConfig, ViTMAEForPreTraining
    m = ViTMAEForPreTraining(ViTMAEConfig(num_hidden_layers=6, decoder_num_hidden_layers=2)).to(CUDA)
    train(m, lambda _: m(torch.randn(8, 3, 224, 224).to(CUDA)).loss, "adamw")


@program
def dinov2_eval():
    from transformers import Dinov2Config, Dinov2Model
    m = Dinov2Model(Dinov2Config()).to(CUDA).eval()
    with torch.inference_mode():
        for batch in (4, 16, 8):
            m(torch.randn(batch, 3, 224, 224, device=CUDA))


@program
def resnet_eval():
    import torchvision
    m = torchvision.models.resnet50(weights=None).to(CUDA).half().eval()
    with torch.no_grad():
        for batch in (1, 7, 32):
            m(torch.randn(batch, 3, 224, 224, device=CUDA, dtype=half))


def unet(amp=None):
    from diffusers import DDPMScheduler, UNet2DConditionModel
    m = UNet2DConditionModel(sample_size=32, block_out_channels=(64, 128, 256), cross_attention_dim=256, attention_head_dim=8,
                             down_block_types=("CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"),
                             up_block_types=("UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D")).to(CUDA)
    schedule = DDPMScheduler()

    def loss(_):
        x, noise = torch.randn(8, 4, 32, 32, device=CUDA), torch.randn(8, 4, 32, 32, device=CUDA)
        t = torch.randint(0, 1000, (8,), device=CUDA)
        return F.mse_loss(m(schedule.add_noise(x, noise, t), t, torch.randn(8, 77, 256, device=CUDA)).sample.float(), noise)

    train(m, loss, "adamw", amp=amp)


define("diffusers_unet", unet)
define("diffusers_unet_amp", unet, half)


@program
def diffusers_vae():
    from diffusers import AutoencoderKL
    m = AutoencoderKL(block_out_channels=(64, 128, 128), down_block_types=("DownEncoderBlock2D",) * 3, up_block_types=("UpDecoderBlock2D",) * 3).to(CUDA)

    def loss(_):
        x = torch.randn(2, 3, 256, 256, device=CUDA)
        d = m.encode(x).latent_dist
        return F.mse_loss(m.decode(d.sample()).sample, x) + 1e-6 * d.kl().mean()

    train(m, loss, "adamw")


@program
def diffusers_dit():
    from diffusers import DiTTransformer2DModel
    m = DiTTransformer2DModel(num_attention_heads=6, attention_head_dim=64, num_layers=6, sample_size=32).to(CUDA)
    train(m, lambda i: m(torch.randn(8, 4, 32, 32, device=CUDA), timestep=torch.full((8,), i, device=CUDA), class_labels=torch.zeros(8, dtype=torch.long, device=CUDA)).sample.square().mean(), "adamw", amp=brain)


@program
def unet_3d():
    def block(a, b):
        return nn.Sequential(nn.Conv3d(a, b, 3, padding=1), nn.InstanceNorm3d(b), nn.LeakyReLU())

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c, self.d = block(1, 16), block(16, 32), block(32, 64), block(32 + 32, 32)
            self.up, self.out = nn.ConvTranspose3d(64, 32, 2, 2), nn.Conv3d(32, 3, 1)

        def forward(self, x):
            b = self.b(F.max_pool3d(self.a(x), 2))
            return self.out(self.d(torch.cat([self.up(self.c(F.max_pool3d(b, 2))), b], 1)))

    m = Net().to(CUDA)
    train(m, lambda _: m(torch.randn(2, 1, 64, 64, 64, device=CUDA)).square().mean(), amp=half)


@program
def gan():
    g = nn.Sequential(nn.ConvTranspose2d(100, 256, 4), nn.BatchNorm2d(256), nn.ReLU(), nn.ConvTranspose2d(256, 128, 4, 2, 1), nn.BatchNorm2d(128), nn.ReLU(), nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.BatchNorm2d(64), nn.ReLU(), nn.ConvTranspose2d(64, 3, 4, 2, 1)).to(CUDA)
    d = nn.Sequential(nn.Conv2d(3, 64, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(64, 128, 4, 2, 1), nn.BatchNorm2d(128), nn.LeakyReLU(0.2), nn.Conv2d(128, 256, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(256, 1, 4)).to(CUDA)
    og, od = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters())
    for _ in range(4):
        fake, real = g(torch.randn(64, 100, 1, 1, device=CUDA)), torch.randn(64, 3, 32, 32, device=CUDA)
        od.zero_grad()
        (F.softplus(-d(real)).mean() + F.softplus(d(fake.detach())).mean()).backward()
        od.step()
        og.zero_grad()
        F.softplus(-d(fake)).mean().backward()
        og.step()
