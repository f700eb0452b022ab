; ModuleID = 'kernel'
source_filename = "kernel"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @kernel(ptr addrspace(1) noalias readonly %A, ptr addrspace(1) noalias readonly %B, ptr addrspace(1) noalias %C, i32 %N) #0 {
entry:
  br label %start

start:                                            ; preds = %entry
  %0 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %1 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %2 = mul i32 %1, 2048
  %3 = mul i32 %0, 8
  %4 = add i32 %2, %3
  %5 = icmp slt i32 %4, %N
  br i1 %5, label %load, label %loaded

load:                                             ; preds = %start
  %6 = getelementptr half, ptr addrspace(1) %A, i32 %4
  %7 = load <8 x half>, ptr addrspace(1) %6, align 16
  br label %loaded

loaded:                                           ; preds = %load, %start
  %8 = phi <8 x half> [ %7, %load ], [ zeroinitializer, %start ]
  br i1 %5, label %load1, label %loaded2

load1:                                            ; preds = %loaded
  %9 = getelementptr half, ptr addrspace(1) %B, i32 %4
  %10 = load <8 x half>, ptr addrspace(1) %9, align 16
  br label %loaded2

loaded2:                                          ; preds = %load1, %loaded
  %11 = phi <8 x half> [ %10, %load1 ], [ zeroinitializer, %loaded ]
  %12 = fadd <8 x half> %8, %11
  br i1 %5, label %store, label %stored

store:                                            ; preds = %loaded2
  %13 = getelementptr half, ptr addrspace(1) %C, i32 %4
  store <8 x half> %12, ptr addrspace(1) %13, align 16
  br label %stored

stored:                                           ; preds = %store, %loaded2
  ret void
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1

attributes #0 = { "nvvm.reqntid"="256,1,1" }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
