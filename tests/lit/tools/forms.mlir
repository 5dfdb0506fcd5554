// RUN: qb-opt %s --emit=text | filecheck %s --check-prefix=TEXT
// RUN: qb-opt %s --emit=text | qb-opt --split-input-file --verify-roundtrip --emit=qb | filecheck %s --check-prefix=QB
// RUN: qb-opt %s --emit=stablehlo | filecheck %s --check-prefix=STABLEHLO
// RUN: qb-opt %s --emit=stablehlo | qb-opt --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: qb-opt %s --verify-roundtrip --mlir-print-debuginfo --mlir-print-local-scope | filecheck %s --check-prefix=DEBUG
// RUN: qb-opt %s --mlir-elide-elementsattrs-if-larger=2 | filecheck %s --check-prefix=ELIDE
// RUN: qb-opt %s -o %t.mlir
// RUN: qb-opt < %t.mlir --emit=text - | filecheck %s --check-prefix=TEXT
// RUN: qb-opt %s --emit=stablehlo -o %t.stablehlo.mlir
// RUN: not qb-opt %t.stablehlo.mlir --emit=text 2>&1 | filecheck %s --check-prefix=NOTEXT

// TEXT: %0 = input[name=x] : tensor<3xf64>
// TEXT-NEXT: %1 = constant[value=[1.0, 2.0, 3.0]] : tensor<3xf64>
// TEXT-NEXT: %2 = add(%0, %1) : tensor<3xf64>
// TEXT-NEXT: %3 = tanh(%2) : tensor<3xf64>
// TEXT-NEXT: %4 = sum(%3) : tensor<f64>
// TEXT-NEXT: {{^outputs: \[\[\]\]$}}
// TEXT-NEXT: {{^// -----$}}
// TEXT-NEXT: %0 = input[name=arg0] : tensor<2xf32>
// TEXT-NEXT: outputs: {{\[\[2\]\]}}

// The text form has no function name.
// QB: func.func @main(%arg0: tensor<3xf64> {qb.name = "x"}) -> tensor<f64>
// QB: "qb.tanh"
// QB: {{^// -----$}}
// QB: func.func @main(%arg0: tensor<2xf32> {qb.name = "arg0"}) -> tensor<2xf32>

// STABLEHLO: func.func public @f(
// STABLEHLO: stablehlo.tanh
// STABLEHLO-NOT: "qb.

// GENERIC: "func.func"()
// GENERIC: "stablehlo.tanh"(

// DEBUG: "qb.tanh"(%{{.+}}) : (tensor<3xf64>) -> tensor<3xf64> loc("{{.*}}forms.mlir":43:8)

// ELIDE: dense_resource<__elided__>

// NOTEXT: error: cannot emit text: 'stablehlo.{{[a-z]+}}' is not a qb op
func.func @f(%x: tensor<3xf64> {qb.name = "x"}) -> tensor<f64> {
  %0 = "qb.constant"() {value = dense<[1.0, 2.0, 3.0]> : tensor<3xf64>} : () -> tensor<3xf64>
  %1 = "qb.add"(%x, %0) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  %2 = "qb.tanh"(%1) : (tensor<3xf64>) -> tensor<3xf64>
  %3 = "qb.sum"(%2) {axis = array<i64: 0>} : (tensor<3xf64>) -> tensor<f64>
  return %3 : tensor<f64>
}
func.func @identity(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
