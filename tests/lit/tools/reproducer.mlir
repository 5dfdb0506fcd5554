// RUN: not qb-opt %s --cse --qb-vjp=wrt=5 --mlir-pass-pipeline-crash-reproducer=%t.mlir 2>&1 | filecheck %s --check-prefix=FAILS
// RUN: filecheck %s --check-prefix=FILE < %t.mlir
// RUN: not qb-opt %t.mlir --run-reproducer 2>&1 | filecheck %s --check-prefix=AGAIN
// RUN: not qb-opt %s --qb-vjp=wrt=5 --mlir-print-ir-after-failure 2>&1 | filecheck %s --check-prefix=PRINTED

// FAILS: reproducer.mlir:18:1: error: qb-vjp: wrt=5: there is no such argument, the first of 1 is 0
// FAILS: error: Failures have been detected while processing an MLIR pass pipeline; reproducer generated at `{{.*}}`

// FILE: "func.func"()
// FILE: mlir_reproducer: {
// FILE-NEXT: pipeline: "builtin.module(cse,qb-vjp{wrt=5})",
// FILE-NEXT: disable_threading: true,
// FILE-NEXT: verify_each: true

// AGAIN: error: qb-vjp: wrt=5: there is no such argument, the first of 1 is 0

// PRINTED: // -----// IR Dump After qb-vjp{wrt=5} Failed //----- //
func.func @f(%x: tensor<f64>) -> tensor<f64> {
  return %x : tensor<f64>
}
