// RUN: not qb-opt %s --split-input-file --verify-diagnostics 2>&1 | filecheck %s
// RUN: not qb-opt %s --split-input-file --verify-diagnostics -o %t.out > %t.log 2>&1
// RUN: not test -e %t.out

// CHECK: fails.mlir:8:8: error: unexpected error: 'qb.add' op shapes [3] and [2] do not broadcast
// CHECK-NEXT: %0 = "qb.add"
func.func @unexpected(%x: tensor<3xf64>, %y: tensor<2xf64>) -> tensor<3xf64> {
  %0 = "qb.add"(%x, %y) : (tensor<3xf64>, tensor<2xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// -----

// CHECK: fails.mlir:16:4: error: expected warning "a thing that does not happen" was not produced
func.func @missing(%x: tensor<3xf64>) -> tensor<3xf64> {
// expected-warning@below {{a thing that does not happen}}
  return %x : tensor<3xf64>
}

// -----

// CHECK: fails.mlir:26:8: error: unexpected error: 'qb.add' op shapes
// CHECK: fails.mlir:25:6: error: expected error "shapes [3] and [4]" was not produced
func.func @other_text(%x: tensor<3xf64>, %y: tensor<2xf64>) -> tensor<3xf64> {
  // expected-error@below {{shapes [3] and [4]}}
  %0 = "qb.add"(%x, %y) : (tensor<3xf64>, tensor<2xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// -----

// CHECK: fails.mlir:33:7: error: malformed expected-* comment
// an expected-error @nowhere {{text}}
func.func @malformed(%x: tensor<3xf64>) -> tensor<3xf64> {
  return %x : tensor<3xf64>
}
