"""What rows of tables are called, by the names of figures in records."""

SPLICED = {
    "gpu_kernel": "sweep alone, case set",
    "gpu_kernel_large_case": "sweep alone, case like IL1RAPL1",
    "gpu_spliced_scores": "`spliced_scores`, case set",
    "gpu_spliced_scores_of_columns": "the same, of prepared columns",
    "gpu_spliced_align_many": "`spliced_align_many`, case set",
    "gpu_spliced_align_many_of_columns": "the same, of prepared columns",
    "gpu_spliced_align": "`spliced_align`, case set",
    "gpu_large_case": "`spliced_align`, case like IL1RAPL1",
    "gpu_large_case_scores": "`spliced_scores`, case like IL1RAPL1",
    "accelerator_2_kernel": "published accelerator 2, every 20th case",
    "accelerator_2_large_case": "published accelerator 2, case like IL1RAPL1",
    "library_all_cores": "CPU, all cores: `spliced_align`, case set",
}

SITES = {
    "case_set_library": "GPU: case set, both strands",
    "case_set_free_library": "the same, free target ends",
    "genome_library": "GPU: 60 targets on 3 Mb, both strands, free target ends",
    "coding_library": "GPU: eight chains that translate, 1 Mb, both strands",
    "long_gene_library": "GPU: a gene of 50 exons in 511,368 bases",
    "some_cases_cuda": "GPU: 101 cases of the set, both strands",
    "some_cases_cpu": "CPU, all cores: the same",
}

PROTEINS = {
    "proteins_loci_kernel": "GPU: kernel alone, 396 loci of 42 kb, proteins of 486 residues",
    "proteins_many_loci_kernel": "GPU: kernel alone, 1,056 such loci",
    "proteins_loci_library": "GPU: `protein_align`, the same",
    "proteins_loci_cpu": "CPU, 16 threads: 64 of them",
    "proteins_genome_60_kernel": "GPU: kernel alone, 60 proteins on 3 Mb",
    "proteins_genome_60_library": "GPU: `protein_align`, the same",
}

LOCAL = {
    "gpu_k_1": "call, 500,000 x 500,000, k = 1",
    "gpu_double_k_1": "call, 1,000,000 x 1,000,000, k = 1",
    "gpu_fourfold_k_1": "call, 2,000,000 x 2,000,000, k = 1",
    "gpu_double_k_10": "call, 1,000,000 x 1,000,000, k = 10",
    "gpu_related_k_1": "call, related 1,000,000 x 1,000,000, k = 1",
    "gpu_500_pairs": "call, 500 pairs of 2,000 x 2,000, k = 1",
    "gpu_4000_pairs": "call, 4,000 pairs of 2,000 x 2,000, k = 1",
    "several_gpus_call": "call, 2,000,000 x 2,000,000 on all GPUs, k = 1",
}

LOCAL_CPU = {
    "one_core_k_10": "40,000 x 40,000, k = 10",
    "one_core_large_k_10": "500,000 x 500,000, k = 10",
    "one_core_large_k_100": "500,000 x 500,000, k = 100",
    "one_core_large_related_k_1": "related 500,000 x 500,000, k = 1",
    "one_core_small_k_100": "10,000 x 10,000, k = 100",
    "memory_double_k_1": "1,000,000 x 1,000,000, k = 1",
    "one_core_double_k_1": "1,000,000 x 1,000,000, k = 1",
}

CODING = {
    "coding_loci_kernel": "396 loci of 42,181 x 1,460, both strands: kernel",
    "coding_loci_library": "the same: call",
    "coding_genome_kernel": "3 Mb x 60 cDNAs, both strands: kernel",
    "coding_genome_library": "the same: call",
}
