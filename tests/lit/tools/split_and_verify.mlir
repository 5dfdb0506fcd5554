// RUN: qb-opt %s --split-input-file --verify-diagnostics | filecheck %s --check-prefix=OUTPUT
// RUN: not qb-opt %s --split-input-file 2>&1 | filecheck %s --check-prefix=ERRORS
// RUN: not qb-opt %s --verify-diagnostics 2>&1 | filecheck %s --check-prefix=WHOLE

// Parts that are sound are printed, with the marker between them.
// OUTPUT: func.func @good(
// OUTPUT-NOT: @unknown_op
// OUTPUT: {{^// -----$}}
// OUTPUT: func.func @also_good(
func.func @good(%x: tensor<3xf64>) -> tensor<3xf64> {
  return %x : tensor<3xf64>
}

// -----

// The line is the file's, not the part's; the caret stands below a tab's width.
// ERRORS: split_and_verify.mlir:22:7: error: unregistered operation 'qb.sinn' found in dialect ('qb'){{.*}}; did you mean 'qb.sin'?
// ERRORS-NEXT: {{^}}        %0 = "qb.sinn"(%x)
// ERRORS-NEXT: {{^             \^$}}
func.func @unknown_op(%x: tensor<3xf64>) -> tensor<3xf64> {
  // expected-error@+1 {{unregistered operation 'qb.sinn'}}
	%0 = "qb.sinn"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// -----

// ERRORS: split_and_verify.mlir:31:8: error: 'qb.add' op shapes [3] and [2] do not broadcast
func.func @shapes(%x: tensor<3xf64>, %y: tensor<2xf64>) -> tensor<3xf64> {
  // expected-error-re@below {{shapes {{\[3\]}} and {{\[.\]}} do not broadcast}}
  %0 = "qb.add"(%x, %y) : (tensor<3xf64>, tensor<2xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// -----

// ERRORS: split_and_verify.mlir:42:3: error: redefinition of SSA value '%0'
// ERRORS: split_and_verify.mlir:41:3: note: previously defined here
func.func @twice(%x: tensor<3xf64>) -> tensor<3xf64> {
  // expected-note@+1 {{previously defined here}}
  %0 = "qb.sin"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  %0 = "qb.sin"(%x) : (tensor<3xf64>) -> tensor<3xf64> // expected-error {{redefinition of SSA value}}
  return %0 : tensor<3xf64>
}

// -----

func.func @also_good(%x: tensor<3xf64>) -> tensor<3xf64> {
  return %x : tensor<3xf64>
}

// A file that is not split stops at its first error.
// WHOLE: error: expected error "shapes
