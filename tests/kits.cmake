# The kits, and the files that do not keep to theirs. Each file of a folder below compiles with the installed headers as
# its only project headers, and all of them link with the shared libraries as a plug-in does: what the library's own
# parts are made of, a user has as well. This list is the one place that names the exceptions. A file that no longer
# needs to be on it fails the test, too.
#
# hr_kit(FOLDER LIBRARY headrace [DEF list.def] [EXCEPT files, without .c] [HEADERS in the folder] [LINK options]): with
# DEF only the files that a list in that folder names, "hooks.def" or "hooks.def:prefix_"; HEADERS: what its files share
# beside the kit, one of another folder by its path; LINK: libraries that the files themselves are made of,
# and what is defined for them.

# Sources that read files use the readers' insides: the windows on files, record framing, damage and policies. cache and
# load write and read files of cached rows, the parsers are made for the wire format, and Arrow's rows are shared with
# hr_iterator_to_arrow; row_bytes reads TensorProto by the reader of tf.Example. None of these insides is a kit.
# sql is made of SQLite.
set(sqlite "")
if(SQLITE_FOUND)
    set(sqlite -DHR_HAVE_SQLITE -lsqlite3)
endif()
hr_kit(data/ops LIBRARY headrace DEF ops.def LINK -luv ${sqlite} EXCEPT
    csv example_rows fixed_length_records idx jsonl shuffled_records text_lines tfrecord
    cache load
    parse_example parse_sequence_example row_bytes
    from_arrow from_arrow_stream)

# MatMul, Einsum and decompositions call OpenBLAS, and convolutions and LookupMatMul tiles of registers, which are private files of the
# room. What tables hold is in private files, too: their ops are too many for one; so are files of images. Numbers are
# read as the readers of files read them, Examples too, strings hashed as columns hash them, and UTF-8 checked as everywhere.
hr_kit(train/ops LIBRARY headrace_train DEF ops.def EXCEPT matmul_op HEADERS philox.h)
hr_kit(train/ops/files LIBRARY headrace_train DEF ops.def)
hr_kit(train/ops/images LIBRARY headrace_train DEF ops.def EXCEPT decode_ops)
hr_kit(train/ops/linalg LIBRARY headrace_train DEF ops.def HEADERS gradients.h EXCEPT einsum_op factor_ops least_squares_op spectral_ops)
hr_kit(train/ops/lists LIBRARY headrace_train DEF ops.def)
hr_kit(train/ops/nn LIBRARY headrace_train DEF ops.def HEADERS lookups.h windows.h train/ops/philox.h EXCEPT
       conv2d_ops lookup_matmul_grad_op lookup_matmul_op)
hr_kit(train/ops/sparse LIBRARY headrace_train DEF ops.def HEADERS ragged.h sparse.h)
hr_kit(train/ops/tables LIBRARY headrace_train DEF ops.def EXCEPT table_ops)
hr_kit(train/ops/text LIBRARY headrace_train DEF ops.def HEADERS letter_case.h pattern.h utf8.h LINK -lpcre2-8 -lz EXCEPT
       decode_csv_op hash_bucket_op parse_example_op regex_ops string_number_ops)
hr_kit(train/layers LIBRARY headrace_train DEF ops.def)
hr_kit(train/optimizers LIBRARY headrace_train DEF optimizers.def)
hr_kit(train/hooks LIBRARY headrace_train DEF hooks.def LINK -luv)
# A row of CSVLogger is appended whole, and taken back where it cannot be: no writer of the kits does that.
hr_kit(train/models/layers LIBRARY headrace_train DEF layers.def HEADERS recurrent.h)
hr_kit(train/models/callbacks LIBRARY headrace_train DEF callbacks.def HEADERS rate.h EXCEPT csv_logger)
hr_kit(train/estimator/heads LIBRARY headrace_train DEF heads.def)
# What tests add from outside.
hr_kit(tests/train/outside LIBRARY headrace_train EXCEPT test_outside test_outside_models test_kit_contracts test_op_library)

# The two engines of deflate, and the formats of lz4 and zstd, are made of these libraries.
set(engines -lz -llz4)
set(codecs_except "")
if(ISAL_FOUND)
    list(APPEND engines -DHR_HAVE_ISAL -lisal)
else()
    list(APPEND codecs_except deflate_isal)
endif()
if(ZSTD_FOUND)
    list(APPEND engines -DHR_HAVE_ZSTD -lzstd)
endif()
hr_kit(io/codecs LIBRARY headrace HEADERS deflate.h frames.h members.h LINK ${engines} EXCEPT ${codecs_except})

hr_kit(feature_columns/kinds LIBRARY headrace HEADERS embedding.h normalize.h numeric.h vocabulary.h)

# The conformance suites are for operators and ops from outside, so they are made of what those are made of. They share
# the allocator.
hr_kit(conformance LIBRARY headrace HEADERS conformance_internal.h allocations.h)
hr_kit(train/conformance LIBRARY headrace_train HEADERS trial.h conformance/allocations.h
       LINK ${PROJECT_SOURCE_DIR}/conformance/allocations.c -fPIC -I${PROJECT_SOURCE_DIR} -I${HEADRACE_INCLUDE})
