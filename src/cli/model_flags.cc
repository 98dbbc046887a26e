#include "cli/model_flags.h"

namespace firebrick {

void AddModelFlags(ModelOptions* options, FlagSet* flags) {
  flags->Positional("MODEL", "A .gguf file, a model folder or a hub name; left out: the default model",
                    &options->model);
  flags->Choice("--isa", {"auto", "ref", "avx2", "avx512", "amx"}, "Kernels; all give the same bits",
                &options->isa);
  flags->Switch("--no-kernel-timing", "Take kernels by what the CPU can do, without timing them",
                &options->time_kernels, false);
  flags->Integer("--threads", "N", "Compute threads; otherwise what CPU mask and cgroup allow",
                 &options->threads, 1, 1024);
  flags->Choice("--kv-cache-dtype", {"bf16", "f32"}, "Format of the KV cache", &options->kv_cache_dtype);
}

void AddContextFlags(EngineOptions* options, FlagSet* flags) {
  flags->Integer("--max-model-len", "N", "Longest prompt and answer together; otherwise the model's own",
                 &options->max_model_len, 1);
  flags->Bytes("--kv-cache-memory",
               "Memory of the KV cache, like 2GiB; otherwise what is free, less a margin",
               &options->kv_cache_memory_bytes);
}

void AddBatchFlags(EngineOptions* options, FlagSet* flags) {
  flags->Integer("--max-num-seqs", "N", "Requests that run at once", &options->max_num_seqs, 1, 4096);
  flags->Integer("--max-num-batched-tokens", "N", "Tokens of one step", &options->max_num_batched_tokens, 1,
                 1 << 20);
  flags->Switch("--no-enable-prefix-caching", "Compute every prompt from its start",
                &options->enable_prefix_caching, false);
}

}  // namespace firebrick
