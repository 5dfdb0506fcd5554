// RUN: qb-opt %s --pass-pipeline="builtin.module( qb-vjp{wrt=0}, func.func(cse,canonicalize{max-iterations=3}) )" --dump-pass-pipeline 2>&1 | filecheck %s --check-prefix=NESTED
// RUN: qb-opt %s --qb-vjp=wrt=0 --cse --mlir-print-ir-after-all 2>&1 | filecheck %s --check-prefix=AFTER
// RUN: qb-opt %s --pass-pipeline="builtin.module(func.func(qb-jvp,cse),cse)" --mlir-print-ir-before=cse --mlir-print-ir-module-scope 2>&1 | filecheck %s --check-prefix=BEFORE
// RUN: qb-opt %s --cse --qb-simplify --mlir-print-ir-after-all --mlir-print-ir-after-change 2>&1 | filecheck %s --check-prefix=CHANGE
// RUN: qb-opt %s --qb-vjp --cse --mlir-timing 2>&1 | filecheck %s --check-prefix=TIMING
// RUN: not qb-opt %s --pass-pipeline="builtin.module(cse,qb-vpj)" 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not qb-opt %s --cse --qb-vpj 2>&1 | filecheck %s --check-prefix=FLAG
// RUN: not qb-opt %s --pass-pipeline="builtin.module(func.func(convert-qb-to-stablehlo))" 2>&1 | filecheck %s --check-prefix=LEVEL
// RUN: not qb-opt %s --pass-pipeline="func.func(cse)" 2>&1 | filecheck %s --check-prefix=ROOT

// NESTED: Pass Manager with 2 passes:
// NESTED-NEXT: {{^}}builtin.module(qb-vjp{wrt=0},func.func(cse,canonicalize{max-iterations=3})){{$}}
// NESTED: func.func @f(%arg0: tensor<3xf64>{{.*}}, %arg1: tensor<3xf64>

// AFTER: // -----// IR Dump After qb-vjp{wrt=0} //----- //
// AFTER-NEXT: module {
// AFTER: "qb.cos"
// AFTER: // -----// IR Dump After cse //----- //
// AFTER-NEXT: module {

// BEFORE-NOT: IR Dump After
// BEFORE: // -----// IR Dump Before cse ('func.func' operation: @f) //----- //
// BEFORE-NEXT: module {
// BEFORE: // -----// IR Dump Before cse //----- //
// BEFORE-NEXT: module {

// CHANGE-NOT: IR Dump After cse
// CHANGE: IR Dump After qb-simplify
// CHANGE: qb.name = "arg0"

// TIMING: Execution time report
// TIMING: Total Execution Time: {{[0-9.]+}} seconds
// TIMING: Parser
// TIMING: qb-vjp
// TIMING: cse
// TIMING: Total

// UNKNOWN: <pass-pipeline>:1:20: error: 'qb-vpj' does not refer to a registered pass or pass pipeline; did you mean 'qb-vjp'?
// UNKNOWN-NEXT: builtin.module(cse,qb-vpj)
// UNKNOWN-NEXT: {{^                   \^$}}

// FLAG: qb-opt: Unknown command line argument '--qb-vpj'. Try: 'qb-opt --help'; did you mean '--qb-vjp'?

// LEVEL: <pass-pipeline>:1:26: error: can't add pass 'convert-qb-to-stablehlo' restricted to 'builtin.module' on a pass manager intended to run on 'func.func', did you intend to nest?

// ROOT: error: can't run 'func.func' pass manager on 'builtin.module' op
func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.sin"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}
