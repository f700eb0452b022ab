# SPDX-License-Identifier: Apache-2.0
# What an exported kernel carries: the launch, cut out of its sources (jit/export/slice.awk), as numbers for export.c.
SLICED := jit/export/leaves.inc $(patsubst %,lib/base/%.c,error dtype text arena) $(patsubst %,lib/tape/%.c,target target_text expr map verify_sig printed) \
    $(patsubst %,jit/cuda/%.c,error context driver asserts maps kernel) $(patsubst %,jit/kernel/%.c,runtime plan maps bind refused) \
    $(patsubst %,jit/launch/%.c,launch dlpack tvm) $(patsubst %,jit/export/%.c,run run_tvm)
SLICE_PLAIN := sett__exported_launch sett__exported_prepare sett__exported_failed sett_buf_1d sett_buf_2d sett_buf_nd
$(B)/export_runtime.inc: private SLICE = -v roots='$(SLICE_PLAIN)'
$(B)/export_runtime_tvm.inc: private SLICE = -v before='$(SLICE_PLAIN)' -v roots=sett__exported_call
$(B)/export_runtime.inc $(B)/export_runtime_tvm.inc: jit/export/slice.awk $(SLICED) $(wildcard include/sett/*.h lib/tape/*.def $(foreach r,lib/base lib/tape lib/build jit/*,$(r)/*.h))
	@mkdir -p $(@D)
	$(call Q,GEN)awk $(SLICE) -v open='sett_buf_1d sett_buf_2d sett_buf_nd' -v given='sett_buf sett_stream sett_status sett_dtype' -f $< $(SLICED) >$@.c && \
	    od -An -v -tu1 $@.c | sed 's/  */,/g; s/^,//; s/$$/,/' >$@
$(B)/obj/jit/export/export.o: $(B)/export_runtime.inc $(B)/export_runtime_tvm.inc
$(B)/obj/jit/export/export.o: override CPPFLAGS += -I$(B)
