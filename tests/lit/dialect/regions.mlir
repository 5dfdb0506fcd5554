// RUN: qb-opt %s --emit=text | filecheck %s
// RUN: qb-opt %s --verify-roundtrip | filecheck %s --check-prefix=KEPT

// The inner loop uses values of both levels around it, which become operands of the ops that they pass through.

// CHECK: %0 = input[name=x] : tensor<f64>
// CHECK: %1 = input[name=w] : tensor<f64>
// CHECK-NEXT: %2 = fori(%0, %1, lower=0, upper=4) : tensor<f64> {
// CHECK-NEXT:   args: %3 : tensor<f64>, %4 : tensor<f64>
// CHECK-NEXT:   %5 = fori(%4, %3, %1, lower=-1, upper=2) : tensor<f64> {
// CHECK-NEXT:     args: %6 : tensor<f64>, %7 : tensor<f64>
// CHECK-NEXT:     %8 = mul(%7, %3) : tensor<f64>
// CHECK-NEXT:     %9 = add(%8, %1) : tensor<f64>
// CHECK-NEXT:     yield %9
// CHECK-NEXT:   }
// CHECK-NEXT:   yield %5
// CHECK-NEXT: }
// CHECK-NEXT: outputs: {{\[\[}}]]

// KEPT-LABEL: func.func @nested(
// KEPT: "qb.index"(%{{.+}}) : (index) -> tensor<f64>
func.func @nested(%x: tensor<f64> {qb.name = "x"}, %w: tensor<f64> {qb.name = "w"}) -> tensor<f64> {
  %cm1 = arith.constant -1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> tensor<f64> {
    %s = scf.for %j = %cm1 to %c2 step %c1 iter_args(%b = %a) -> tensor<f64> {
      %k = "qb.index"(%i) : (index) -> tensor<f64>
      %0 = "qb.mul"(%b, %k) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      %1 = "qb.add"(%0, %w) : (tensor<f64>, tensor<f64>) -> tensor<f64>
      scf.yield %1 : tensor<f64>
    }
    scf.yield %s : tensor<f64>
  }
  return %r : tensor<f64>
}

// A test that hands on what it computes: the graph's loop carries %a, and what the body and the results get from the
// test is computed from the carry again.
// CHECK: %2 = while(%0, %1) : tensor<f64> {
// CHECK-NEXT: args: %3 : tensor<f64>
// CHECK-NEXT: %4 = exp(%3) : tensor<f64>
// CHECK-NEXT: %5 = compare(%4, %1, kind=less) : tensor<i1>
// CHECK-NEXT: yield %5
// CHECK-NEXT: } do {
// CHECK-NEXT: args: %6 : tensor<f64>
// CHECK-NEXT: %7 = exp(%6) : tensor<f64>
// CHECK-NEXT: %8 = neg(%7) : tensor<f64>
// CHECK-NEXT: yield %8
// CHECK-NEXT: }
// CHECK-NEXT: %9 = exp(%2) : tensor<f64>
func.func @hands_on(%x: tensor<f64>, %n: tensor<f64>) -> tensor<f64> {
  %r = scf.while (%a = %x) : (tensor<f64>) -> tensor<f64> {
    %e = "qb.exp"(%a) : (tensor<f64>) -> tensor<f64>
    %c = "qb.compare"(%e, %n) {kind = "less"} : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %q = tensor.extract %c[] : tensor<i1>
    scf.condition(%q) %e : tensor<f64>
  } do {
  ^bb0(%b: tensor<f64>):
    %m = "qb.neg"(%b) : (tensor<f64>) -> tensor<f64>
    scf.yield %m : tensor<f64>
  }
  return %r : tensor<f64>
}
