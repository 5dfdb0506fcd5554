// A counter that MLIR carries and computes as an index is a tensor<f64> in the text form, in StableHLO and for transforms.
// RUN: qb-opt %s --scf-for-to-while --emit=text | filecheck %s
// RUN: qb-opt %s --scf-for-to-while --emit=stablehlo | filecheck %s --check-prefix=HLO
// RUN: not qb-opt %s --scf-for-to-while --qb-vjp 2>&1 | filecheck %s --check-prefix=VJP

// CHECK: [[ZERO:%.+]] = constant[value=0.0] : tensor<f64>
// CHECK: while([[ZERO]], %0) : tensor<f64>, tensor<3xf64>
// CHECK: [[FIVE:%.+]] = constant[value=5.0]
// CHECK: compare({{%.+}}, [[FIVE]], kind=less)
// CHECK: [[ONE:%.+]] = constant[value=1.0]
// CHECK: add([[J:%.+]], [[ONE]])
// CHECK: mul({{%.+}}, [[J]])

// HLO: stablehlo.while
// HLO: stablehlo.compare LT

// Reverse mode needs the bound that the pass has thrown away.
// VJP: reverse mode needs a bound
func.func @f(%x: tensor<3xf64>) -> tensor<3xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%c = %x) -> (tensor<3xf64>) {
    %k = "qb.index"(%i) : (index) -> tensor<f64>
    %d = "qb.sin"(%c) : (tensor<3xf64>) -> tensor<3xf64>
    %e = "qb.mul"(%d, %k) : (tensor<3xf64>, tensor<f64>) -> tensor<3xf64>
    scf.yield %e : tensor<3xf64>
  }
  return %r : tensor<3xf64>
}
