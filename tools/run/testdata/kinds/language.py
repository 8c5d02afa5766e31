"""Language models of transformers and peft from configurations, training and generating."""
import torch
from kinds import CUDA, define, ids, program, train

half, brain = torch.float16, torch.bfloat16
SMALL = dict(hidden_size=512, intermediate_size=1376, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=4, vocab_size=16000, use_cache=False)
NARROW = dict(hidden_size=384, num_hidden_layers=4, num_attention_heads=6, intermediate_size=1536, vocab_size=16000)


def build(config, model, cast=None, **more):
    import transformers
    m = getattr(transformers, model)(getattr(transformers, config)(**more))
    return (m.to(cast) if cast else m).to(CUDA)


def text(config, model, batch=4, length=256, checkpoint=False, compiled=False, optimizer="adamw", amp=None, steps=3, clip=False, padded=False, **more):
    m = build(config, model, **more)
    if checkpoint:
        m.gradient_checkpointing_enable()
    call = torch.compile(m) if compiled else m

    def loss(_):
        x = ids(batch, length)
        if not padded:
            return call(input_ids=x, labels=x).loss
        mask = torch.ones_like(x)
        for k in range(batch):
            mask[k, length - 13 * k:] = 0
        return call(input_ids=x, attention_mask=mask, labels=x.masked_fill(mask == 0, -100)).loss

    train(m, loss, optimizer, amp, steps, clip)


for name, arguments, how in [
    ("bert", ("BertConfig", "BertForMaskedLM"), dict(NARROW, batch=8, amp=half)),
    ("roberta", ("RobertaConfig", "RobertaForMaskedLM"), dict(NARROW, optimizer="sgd")),
    ("distilbert", ("DistilBertConfig", "DistilBertForMaskedLM"), dict(batch=4, optimizer="adam")),
    ("electra", ("ElectraConfig", "ElectraForMaskedLM"), dict(batch=16, length=128)),
    ("albert", ("AlbertConfig", "AlbertForMaskedLM"), dict(hidden_size=512, num_attention_heads=8, intermediate_size=2048, optimizer="sgd")),
    ("deberta", ("DebertaV2Config", "DebertaV2ForMaskedLM"), dict(NARROW, batch=4)),
    ("xlnet", ("XLNetConfig", "XLNetLMHeadModel"), dict(d_model=384, n_layer=4, n_head=6, d_inner=1536, vocab_size=16000)),
    ("longformer", ("LongformerConfig", "LongformerForMaskedLM"), dict(NARROW, batch=2, length=512, attention_window=64, max_position_embeddings=1026)),
    ("gpt2", ("GPT2Config", "GPT2LMHeadModel"), dict(n_embd=512, n_layer=6, n_head=8, batch=4, checkpoint=True, use_cache=False)),
    ("gpt2_compiled", ("GPT2Config", "GPT2LMHeadModel"), dict(n_embd=512, n_layer=4, n_head=8, compiled=True, use_cache=False)),
    ("gpt_neo", ("GPTNeoConfig", "GPTNeoForCausalLM"), dict(hidden_size=512, num_layers=4, attention_types=[[["global", "local"], 2]], num_heads=8, optimizer="adam", use_cache=False)),
    ("gpt_neox", ("GPTNeoXConfig", "GPTNeoXForCausalLM"), dict(NARROW, amp=brain, use_cache=False)),
    ("opt", ("OPTConfig", "OPTForCausalLM"), dict(hidden_size=512, ffn_dim=2048, num_hidden_layers=4, num_attention_heads=8, word_embed_proj_dim=512, use_cache=False)),
    ("bloom", ("BloomConfig", "BloomForCausalLM"), dict(hidden_size=512, n_layer=4, n_head=8, vocab_size=16000, use_cache=False)),
    ("phi", ("PhiConfig", "PhiForCausalLM"), dict(NARROW, use_cache=False)),
    ("phi3", ("Phi3Config", "Phi3ForCausalLM"), dict(SMALL, pad_token_id=0)),
    ("phi3_padded", ("Phi3Config", "Phi3ForCausalLM"), dict(SMALL, pad_token_id=0, padded=True, amp=brain)),
    ("llama", ("LlamaConfig", "LlamaForCausalLM"), dict(SMALL, checkpoint=True, amp=brain, clip=True)),
    ("llama_compiled", ("LlamaConfig", "LlamaForCausalLM"), dict(SMALL, compiled=True, amp=brain)),
    ("qwen3", ("Qwen3Config", "Qwen3ForCausalLM"), dict(SMALL, padded=True, optimizer="fused")),
    ("gemma2", ("Gemma2Config", "Gemma2ForCausalLM"), dict(SMALL, head_dim=64, amp=brain)),
    ("mistral", ("MistralConfig", "MistralForCausalLM"), dict(SMALL, cast=brain, optimizer="adafactor")),
    ("olmo2", ("Olmo2Config", "Olmo2ForCausalLM"), dict(SMALL, optimizer="loop")),
    ("mixtral", ("MixtralConfig", "MixtralForCausalLM"), dict(SMALL, num_local_experts=4)),
    ("mamba", ("MambaConfig", "MambaForCausalLM"), dict(hidden_size=384, num_hidden_layers=4, vocab_size=16000, use_cache=False)),
]:
    define(name, text, *arguments, **how)


def both_sides(config, model, batch=4, length=128, amp=None, optimizer="adamw", **more):
    m = build(config, model, **more)
    train(m, lambda _: m(input_ids=ids(batch, length), labels=ids(batch, length // 2)).loss, optimizer, amp)


define("t5", both_sides, "T5Config", "T5ForConditionalGeneration", d_model=384, d_ff=1024, num_layers=4, num_heads=6, decoder_start_token_id=0, vocab_size=16000, use_cache=False)
define("t5_gated", both_sides, "T5Config", "T5ForConditionalGeneration", d_model=384, d_ff=1024, num_layers=4, num_heads=6, decoder_start_token_id=0, d_kv=64, vocab_size=16000, feed_forward_proj="gated-gelu", amp=brain, optimizer="adafactor")
define("bart", both_sides, "BartConfig", "BartForConditionalGeneration", d_model=384, encoder_layers=3, decoder_layers=3, encoder_ffn_dim=1024, decoder_ffn_dim=1024, encoder_attention_heads=6, decoder_attention_heads=6, vocab_size=16000, optimizer="sgd")


def generate(how):
    m = build("LlamaConfig", "LlamaForCausalLM", cast=brain, **dict(SMALL, use_cache=True)).eval()
    m.generation_config.pad_token_id = 0
    with torch.no_grad():
        for batch, length in ((4, 100), (8, 300)):
            x = ids(batch, length)
            m.generate(x, attention_mask=torch.ones_like(x), max_new_tokens=24, min_new_tokens=24, **how)


define("generate_greedy", generate, dict(do_sample=False))
define("generate_sample", generate, dict(do_sample=True, top_k=20))
define("generate_beam", generate, dict(num_beams=3, do_sample=False))


@program
def t5_generate():
    m = build("T5Config", "T5ForConditionalGeneration", d_model=384, d_ff=1024, num_layers=4, num_heads=6, decoder_start_token_id=0, vocab_size=16000).eval()
    with torch.no_grad():
        x = ids(4, 100)
        m.generate(x, attention_mask=torch.ones_like(x), max_new_tokens=16, min_new_tokens=16, decoder_start_token_id=0)


@program
def evaluation():
    m = build("GPT2Config", "GPT2LMHeadModel", n_embd=512, n_layer=6, n_head=8).eval()
    with torch.inference_mode():
        for length in (64, 512, 200):
            m(ids(4, length)).logits.argmax(-1)


@program
def lora():
    from peft import LoraConfig, get_peft_model
    m = build("LlamaConfig", "LlamaForCausalLM", cast=brain, **SMALL)
    m = get_peft_model(m, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))

    def loss(_):
        x = ids(4, 256)
        return m(input_ids=x, labels=x).loss

    train(m, loss, "adamw")


@program
def whisper():
    m = build("WhisperConfig", "WhisperForConditionalGeneration", d_model=256, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=1024, decoder_ffn_dim=1024)
    train(m, lambda _: m(input_features=torch.randn(4, 80, 3000, device=CUDA), labels=ids(4, 40)).loss, "adamw", amp=half)


@program
def wav2vec():
    m = build("Wav2Vec2Config", "Wav2Vec2ForCTC", hidden_size=384, num_hidden_layers=4, num_attention_heads=6, intermediate_size=1024, vocab_size=32, mask_time_prob=0.0, mask_feature_prob=0.0)
    train(m, lambda _: m(torch.randn(2, 32000, device=CUDA), labels=torch.randint(1, 30, (2, 20)).to(CUDA)).loss, "adamw")


@program
def trainer():
    """transformers' Trainer on a data set in memory, with evaluation, accumulation and bf16."""
    import tempfile
    from transformers import Trainer, TrainingArguments
    m = build("GPT2Config", "GPT2LMHeadModel", n_embd=384, n_layer=4, n_head=6, vocab_size=8000)
    data = [dict(input_ids=torch.arange(5, 133), labels=torch.arange(5, 133)) for _ in range(24)]
    with tempfile.TemporaryDirectory() as folder:
        a = TrainingArguments(folder, per_device_train_batch_size=4, gradient_accumulation_steps=2, max_steps=3, bf16=True, report_to=[], save_strategy="no", logging_steps=1, eval_strategy="steps", eval_steps=2, disable_tqdm=True)
        Trainer(m, a, train_dataset=data, eval_dataset=data[:8]).train()
