# The kits, and the files that do not keep to theirs. Each file of a folder below compiles with the installed headers as
# its only project headers, and all of them link with the shared libraries as a plug-in does: what the library's own
# parts are made of, a user has as well. This list is the one place that names the exceptions. A file that no longer
# needs to be on it fails the test, too.
#
# hr_kit(FOLDER LIBRARY headrace [DEF list.def] [EXCEPT files, without .c] [HEADERS in the folder] [LINK options]): with
# DEF only the files that a list in that folder names, "hooks.def" or "hooks.def:prefix_"; HEADERS: what its files share
# beside the kit; LINK: libraries that the files themselves are made of.

hr_kit(data/ops LIBRARY headrace EXCEPT
    batch bucket_by_sequence_length cache choose_from_datasets csv dense_to_sparse_batch filter fixed_length_records
    from_arrow from_arrow_stream from_generator group_by_reducer group_by_window idx ignore_errors interleave
    list_files load map options pack_sequences padded_batch parse_example parse_sequence_example ragged_batch range
    rejection_resample repeat sample_from_datasets scan shuffled_records text_lines tfrecord unbatch window)

# MatMul calls OpenBLAS, which is loaded by a private file of the room.
hr_kit(train/ops LIBRARY headrace_train DEF ops.def EXCEPT matmul_op)
hr_kit(train/layers LIBRARY headrace_train DEF ops.def)
# What tests add from outside.
hr_kit(tests/train/outside LIBRARY headrace_train EXCEPT test_outside)

hr_kit(feature_columns/kinds LIBRARY headrace HEADERS embedding.h normalize.h numeric.h vocabulary.h)
