"""Training by libraries: Lightning, TRL, DeepSpeed, accelerate, sentence-transformers, gpytorch."""
import os
import tempfile

import torch
import torch.nn.functional as F
from kinds import CUDA, define, ids, program
from language import NARROW, SMALL, build
from loops import small_resnet

LENGTH = 128


def tiny_llama(**more):
    return build("LlamaConfig", "LlamaForCausalLM", **dict(SMALL, num_hidden_layers=3, vocab_size=4000, **more))


def word_tokenizer():
    """A tokenizer of whole words, made here."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    t = Tokenizer(models.WordLevel({"<pad>": 0, "<s>": 1, "</s>": 2, "<unk>": 3, **{f"w{k}": k for k in range(4, 4000)}}, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=t, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def sentence(k, length):
    return " ".join(f"w{4 + (k * 31 + j * 7) % 3990}" for j in range(length))


def dataset(columns):
    """A data set whose fingerprint is not made by pickling it: with Python 3.11 dill cannot pickle what pyarrow is made of."""
    import datasets.arrow_dataset
    datasets.arrow_dataset.generate_fingerprint = lambda made: f"{id(made):x}"
    return datasets.Dataset.from_dict(columns)


@program
def lightning_fit():
    import lightning.pytorch as pl

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = small_resnet()

        def training_step(self, batch, _):
            loss = F.cross_entropy(self.net(batch[0]), batch[1])
            self.log("loss", loss)
            return loss

        def validation_step(self, batch, _):
            self.log("right", (self.net(batch[0]).argmax(1) == batch[1]).float().mean())

        def configure_optimizers(self):
            o = torch.optim.AdamW(self.parameters(), lr=1e-3)
            return {"optimizer": o, "lr_scheduler": torch.optim.lr_scheduler.StepLR(o, 1)}

    data = torch.utils.data.TensorDataset(torch.randn(256, 3, 48, 48), torch.arange(256) % 10)
    with tempfile.TemporaryDirectory() as folder:
        trainer = pl.Trainer(max_epochs=2, accelerator="gpu", devices=1, precision="bf16-mixed", gradient_clip_val=1.0, accumulate_grad_batches=2, logger=False,
                             enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder)
        trainer.fit(Module(), torch.utils.data.DataLoader(data, 32), torch.utils.data.DataLoader(data, 64))


def supervised(**how):
    from trl import SFTConfig, SFTTrainer
    data = dataset({"text": [sentence(k, 20 + 9 * (k % 12)) for k in range(48)]})
    peft = None
    if how.pop("lora", False):
        from peft import LoraConfig
        peft = LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    with tempfile.TemporaryDirectory() as folder:
        config = SFTConfig(folder, per_device_train_batch_size=4, gradient_accumulation_steps=2, max_steps=3, max_length=LENGTH, report_to=[], save_strategy="no", logging_steps=1, disable_tqdm=True, **how)
        SFTTrainer(tiny_llama(), config, train_dataset=data, processing_class=word_tokenizer(), peft_config=peft).train()


define("trl_sft", supervised, bf16=True)
define("trl_sft_lora", supervised, bf16=True, lora=True)
define("trl_sft_full", supervised, bf16=False, gradient_checkpointing=False)


@program
def trl_grpo():
    from trl import GRPOConfig, GRPOTrainer
    data = dataset({"prompt": [sentence(k, 12) for k in range(16)]})
    with tempfile.TemporaryDirectory() as folder:
        config = GRPOConfig(folder, per_device_train_batch_size=8, num_generations=4, max_completion_length=24, max_steps=2, report_to=[], save_strategy="no", logging_steps=1, bf16=True, disable_tqdm=True)
        GRPOTrainer(tiny_llama(), reward_funcs=lambda completions, **_: [float(len(c) % 7) for c in completions], args=config, train_dataset=data, processing_class=word_tokenizer()).train()


@program
def trl_dpo():
    from trl import DPOConfig, DPOTrainer
    data = dataset({"prompt": [sentence(k, 12) for k in range(16)], "chosen": [sentence(k + 1, 20) for k in range(16)], "rejected": [sentence(k + 2, 24) for k in range(16)]})
    with tempfile.TemporaryDirectory() as folder:
        config = DPOConfig(folder, per_device_train_batch_size=4, max_steps=2, max_length=LENGTH, report_to=[], save_strategy="no", logging_steps=1, bf16=True, disable_tqdm=True)
        DPOTrainer(tiny_llama(), ref_model=tiny_llama(), args=config, train_dataset=data, processing_class=word_tokenizer()).train()


def deepspeed_stage(stage, **more):
    """One process, with DeepSpeed's own communication."""
    import socket

    import deepspeed
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    m = tiny_llama()
    config = {"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 1, "bf16": {"enabled": True}, "zero_optimization": {"stage": stage, **more}, "gradient_clipping": 1.0}
    engine, *_ = deepspeed.initialize(model=m, optimizer=torch.optim.AdamW(m.parameters(), lr=1e-4), config=config)
    for _ in range(3):
        x = ids(4, LENGTH)
        engine.backward(engine(input_ids=x, labels=x).loss)
        engine.step()


define("deepspeed_1", deepspeed_stage, 1)
define("deepspeed_2", deepspeed_stage, 2)
define("deepspeed_3", deepspeed_stage, 3)


def quantized(optimizer, checkpointing):
    """LoRA over weights of 4 bits, by bitsandbytes."""
    import bitsandbytes
    from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig, LlamaConfig, LlamaForCausalLM
    config = LlamaConfig(hidden_size=512, intermediate_size=1376, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=4, vocab_size=8000)
    bits = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=torch.bfloat16)
    with tempfile.TemporaryDirectory() as folder:
        LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)
        m = AutoModelForCausalLM.from_pretrained(folder, quantization_config=bits, device_map={"": 0})
    m = prepare_model_for_kbit_training(m, use_gradient_checkpointing=checkpointing)
    m = get_peft_model(m, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"))
    o = getattr(bitsandbytes.optim, optimizer)(m.parameters(), lr=1e-4)
    for _ in range(3):
        x = ids(4, 2 * LENGTH)
        m(input_ids=x, labels=x).loss.backward()
        o.step(), o.zero_grad()


define("qlora", quantized, "AdamW8bit", True)
define("qlora_paged", quantized, "PagedAdamW8bit", False)


@program
def accelerate_loop():
    from accelerate import Accelerator
    a = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=2)
    m = small_resnet()
    data = torch.utils.data.TensorDataset(torch.randn(160, 3, 48, 48), torch.arange(160) % 10)
    m, o, loader = a.prepare(m, torch.optim.AdamW(m.parameters()), torch.utils.data.DataLoader(data, 32))
    for x, y in loader:
        with a.accumulate(m):
            a.backward(F.cross_entropy(m(x), y))
            if a.sync_gradients:
                a.clip_grad_norm_(m.parameters(), 1.0)
            o.step(), o.zero_grad()


@program
def gaussian_process_library():
    import gpytorch

    class Model(gpytorch.models.ExactGP):
        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            self.mean_module, self.covar_module = gpytorch.means.ConstantMean(), gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    x = torch.linspace(0, 1, 600, device=CUDA)
    y, likelihood = torch.sin(6 * x), gpytorch.likelihoods.GaussianLikelihood().to(CUDA)
    m = Model(x, y, likelihood).to(CUDA).train()
    likelihood.train()
    o, score = torch.optim.Adam(m.parameters(), lr=0.1), gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, m)
    for _ in range(3):
        o.zero_grad()
        (-score(m(x), y)).backward()
        o.step()


@program
def detr():
    """Matching on the host, boxes that are checked."""
    m = build("DetrConfig", "DetrForObjectDetection", use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=resnet_config(), d_model=128,
              encoder_layers=2, decoder_layers=2, encoder_ffn_dim=512, decoder_ffn_dim=512, encoder_attention_heads=4, decoder_attention_heads=4, num_queries=50)
    o = torch.optim.AdamW(m.parameters(), lr=1e-4)
    for _ in range(2):
        labels = [{"class_labels": torch.arange(3).to(CUDA), "boxes": (torch.rand(3, 4) * 0.4 + 0.3).to(CUDA)} for _ in range(2)]
        o.zero_grad()
        m(pixel_values=torch.randn(2, 3, 256, 256, device=CUDA), labels=labels).loss.backward()
        o.step()


def resnet_config():
    from transformers import ResNetConfig
    return ResNetConfig(embedding_size=32, hidden_sizes=[64, 128], depths=[2, 2], layer_type="basic", out_features=["stage2"])


@program
def sentences():
    """Contrastive training of sentence-transformers."""
    from sentence_transformers import InputExample, SentenceTransformer, losses, models
    with tempfile.TemporaryDirectory() as folder:
        build("BertConfig", "BertModel", **dict(NARROW, vocab_size=4000)).cpu().save_pretrained(folder)
        word_tokenizer().save_pretrained(folder)
        words = models.Transformer(folder, max_seq_length=64)
        m = SentenceTransformer(modules=[words, models.Pooling(384)], device=CUDA)
    loss, o = losses.MultipleNegativesRankingLoss(m), torch.optim.AdamW(m.parameters())
    for k in range(3):
        pairs = [InputExample(texts=[sentence(16 * k + j, 20), sentence(16 * k + j + 5, 30)]) for j in range(16)]
        features, _ = m.smart_batching_collate(pairs)
        o.zero_grad()
        loss([{name: t.to(CUDA) for name, t in f.items() if isinstance(t, torch.Tensor)} for f in features], None).backward()
        o.step()
    m.encode([sentence(k, 10 + k) for k in range(40)], batch_size=16)
