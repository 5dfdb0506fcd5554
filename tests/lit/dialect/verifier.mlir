// Each message of the verifier: first those for every op, then those of the ops' records.
// RUN: qb-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.add' op expects 2 operands (x1, x2), got 1}}
  %0 = "qb.add"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'qb.sin' op expects 1 operand (x), got 0}}
  %0 = "qb.sin"() : () -> tensor<3xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.sin' op expects 1 result, got 0}}
  "qb.sin"(%x) : (tensor<3xf64>) -> ()
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.sin' op expects no region, got 1}}
  %0 = "qb.sin"(%x) ({}) : (tensor<3xf64>) -> tensor<3xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.sin' op result: expected a tensor of static shape, got f64}}
  %0 = "qb.sin"(%x) : (tensor<3xf64>) -> f64
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.sin' op has the result type tensor<2xf64>, but operands tensor<3xf64> give tensor<3xf64>}}
  %0 = "qb.sin"(%x) : (tensor<3xf64>) -> tensor<2xf64>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'qb.constant' op has the result type tensor<3xf64>, but its attributes give tensor<2xf64>}}
  %0 = "qb.constant"() {value = dense<1.0> : tensor<2xf64>} : () -> tensor<3xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.sin' op result: expected a tensor of static shape, got tensor<?xf64>}}
  %0 = "qb.sin"(%x) : (tensor<3xf64>) -> tensor<?xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.sin' op result: expected elements of type f64, f32, i1, i32 or i64, got tensor<3xi8>}}
  %0 = "qb.sin"(%x) : (tensor<3xf64>) -> tensor<3xi8>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.sum' op needs the attribute 'axis', an array of ascending, non-negative axes (array<i64: ...>)}}
  %0 = "qb.sum"(%x) : (tensor<3xf64>) -> tensor<f64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.sum' op attribute 'axis' must be an array of ascending, non-negative axes (array<i64: ...>), got 0 : i64}}
  %0 = "qb.sum"(%x) {axis = 0} : (tensor<3xf64>) -> tensor<f64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.sum' op has no attribute 'axes'; it has axis; did you mean 'axis'?}}
  %0 = "qb.sum"(%x) {axis = array<i64: 0>, axes = 0} : (tensor<3xf64>) -> tensor<f64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.sin' op has no attribute 'axis'; it has none}}
  %0 = "qb.sin"(%x) {axis = 0} : (tensor<3xf64>) -> tensor<3xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.gather' op attribute 'indices' must be an array of 64-bit integers (array<i64: ...>), got [0, 1]}}
  %0 = "qb.gather"(%x) {axis = 0, indices = [0, 1]} : (tensor<3xf64>) -> tensor<2xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.gather' op attribute 'axis' must be a 64-bit integer, got 0 : i32}}
  %0 = "qb.gather"(%x) {axis = 0 : i32, indices = array<i64: 0>} : (tensor<3xf64>) -> tensor<1xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.cumsum' op attribute 'reverse' must be true or false, got 1 : i64}}
  %0 = "qb.cumsum"(%x) {axis = 0, reverse = 1} : (tensor<3xf64>) -> tensor<3xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.compare' op attribute 'kind' must be a string, got 1 : i64}}
  %0 = "qb.compare"(%x, %x) {kind = 1} : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xi1>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'qb.constant' op attribute 'value' must be dense elements of type f64, f32, i1, i32 or i64, got 1.000000e+00 : f64}}
  %0 = "qb.constant"() {value = 1.0} : () -> tensor<f64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{unregistered operation 'qb.nosuch' found in dialect ('qb') that does not allow unknown operations}}
  %0 = "qb.nosuch"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return
}

// -----

func.func @f(%b: tensor<3xi1>) {
  // expected-error @below {{'qb.sin' op needs float operands, got tensor<3xi1>}}
  %0 = "qb.sin"(%b) : (tensor<3xi1>) -> tensor<3xi1>
  return
}

// -----

func.func @f(%x: tensor<3xf64>, %s: tensor<3xf32>) {
  // expected-error @below {{'qb.add' op needs operands of one dtype, got tensor<3xf64> and tensor<3xf32>}}
  %0 = "qb.add"(%x, %s) : (tensor<3xf64>, tensor<3xf32>) -> tensor<3xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>, %y: tensor<2xf64>) {
  // expected-error @below {{'qb.add' op shapes [3] and [2] do not broadcast}}
  %0 = "qb.add"(%x, %y) : (tensor<3xf64>, tensor<2xf64>) -> tensor<3xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.powi' op the exponent must not be negative, got -1}}
  %0 = "qb.powi"(%x) {n = -1} : (tensor<3xf64>) -> tensor<3xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.compare' op kind must be one of less, less_equal, greater, greater_equal, equal, not_equal, got odd}}
  %0 = "qb.compare"(%x, %x) {kind = "odd"} : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xi1>
  return
}

// -----

func.func @f(%b: tensor<3xi1>) {
  // expected-error @below {{'qb.compare' op less needs float or int operands, got tensor<3xi1> and tensor<3xi1>}}
  %0 = "qb.compare"(%b, %b) {kind = "less"} : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  return
}

// -----

func.func @f(%x: tensor<3xf64>, %b: tensor<3xi1>) {
  // expected-error @below {{'qb.compare' op needs operands of one dtype, got tensor<3xf64> and tensor<3xi1>}}
  %0 = "qb.compare"(%x, %b) {kind = "equal"} : (tensor<3xf64>, tensor<3xi1>) -> tensor<3xi1>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.where' op the mask must be bool, got tensor<3xf64>}}
  %0 = "qb.where"(%x, %x, %x) : (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return
}

// -----

func.func @f(%b: tensor<3xi1>, %x: tensor<3xf64>, %s: tensor<3xf32>) {
  // expected-error @below {{'qb.where' op needs operands of one dtype, got tensor<3xf64> and tensor<3xf32>}}
  %0 = "qb.where"(%b, %x, %s) : (tensor<3xi1>, tensor<3xf64>, tensor<3xf32>) -> tensor<3xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.reshape' op cannot give tensor<3xf64>, which has 3 elements, the shape [2]}}
  %0 = "qb.reshape"(%x) : (tensor<3xf64>) -> tensor<2xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.broadcast' op tensor<3xf64> does not broadcast to the shape [3, 2]}}
  %0 = "qb.broadcast"(%x) : (tensor<3xf64>) -> tensor<3x2xf64>
  return
}

// -----

func.func @f(%m: tensor<2x3xf64>) {
  // expected-error @below {{'qb.transpose' op axes [0, 0] are not a permutation of the 2 axes of tensor<2x3xf64>}}
  %0 = "qb.transpose"(%m) {axes = array<i64: 0, 0>} : (tensor<2x3xf64>) -> tensor<2x2xf64>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'qb.concat' op needs at least one array}}
  %0 = "qb.concat"() {axis = 0} : () -> tensor<3xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.concat' op axis 1 is out of range for tensor<3xf64>}}
  %0 = "qb.concat"(%x, %x) {axis = 1} : (tensor<3xf64>, tensor<3xf64>) -> tensor<6xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>, %y: tensor<2xf64>) {
  // expected-error @below {{'qb.concat' op operands must have one type, got tensor<3xf64> and tensor<2xf64>; pass them through tensor.cast to the type in which the extents that differ are dynamic}}
  %0 = "qb.concat"(%x, %y) {axis = 0} : (tensor<3xf64>, tensor<2xf64>) -> tensor<5xf64>
  return
}

// -----

func.func @f(%m: tensor<2x3xf64>, %w: tensor<3x2xf64>) {
  %u = tensor.cast %m : tensor<2x3xf64> to tensor<?x?xf64>
  %v = tensor.cast %w : tensor<3x2xf64> to tensor<?x?xf64>
  // expected-error @below {{'qb.concat' op tensor<2x3xf64> and tensor<3x2xf64> differ in more than axis 0}}
  %0 = "qb.concat"(%u, %v) {axis = 0} : (tensor<?x?xf64>, tensor<?x?xf64>) -> tensor<5x3xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.pad' op tensor<3xf64> needs 1 widths, got low [1, 1], high [0], interior [0]}}
  %0 = "qb.pad"(%x) {low = array<i64: 1, 1>, high = array<i64: 0>, interior = array<i64: 0>} : (tensor<3xf64>) -> tensor<4xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.pad' op widths must not be negative, got low [-1], high [0], interior [0]}}
  %0 = "qb.pad"(%x) {low = array<i64: -1>, high = array<i64: 0>, interior = array<i64: 0>} : (tensor<3xf64>) -> tensor<2xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.tril' op needs a matrix or a stack of matrices, got tensor<3xf64>}}
  %0 = "qb.tril"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.slice' op the step must not be 0}}
  %0 = "qb.slice"(%x) {axis = 0, start = 0, length = 2, step = 0} : (tensor<3xf64>) -> tensor<2xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.slice' op start 2, length 2 and step 1 reach outside axis 0 of tensor<3xf64>, whose extent is 3}}
  %0 = "qb.slice"(%x) {axis = 0, start = 2, length = 2, step = 1} : (tensor<3xf64>) -> tensor<2xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.slice' op axis 1 is out of range for tensor<3xf64>}}
  %0 = "qb.slice"(%x) {axis = 1, start = 0, length = 2, step = 1} : (tensor<3xf64>) -> tensor<2xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.gather' op index 3 is out of range for axis 0 of tensor<3xf64>, whose extent is 3}}
  %0 = "qb.gather"(%x) {axis = 0, indices = array<i64: 3>} : (tensor<3xf64>) -> tensor<1xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>, %y: tensor<2xf64>) {
  // expected-error @below {{'qb.scatter_add' op 1 indices along axis 0 of tensor<3xf64> need updates of type tensor<1xf64>, got tensor<2xf64>}}
  %0 = "qb.scatter_add"(%x, %y) {axis = 0, indices = array<i64: 0>} : (tensor<3xf64>, tensor<2xf64>) -> tensor<3xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>, %s: tensor<3xf32>) {
  // expected-error @below {{'qb.scatter_add' op needs two arrays of one float dtype, got tensor<3xf64> and tensor<3xf32>}}
  %0 = "qb.scatter_add"(%x, %s) {axis = 0, indices = array<i64: 0, 1, 2>} : (tensor<3xf64>, tensor<3xf32>) -> tensor<3xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.sum' op axes [1] are not distinct axes of tensor<3xf64> in order}}
  %0 = "qb.sum"(%x) {axis = array<i64: 1>} : (tensor<3xf64>) -> tensor<f64>
  return
}

// -----

func.func @f(%b: tensor<3xi1>) {
  // expected-error @below {{'qb.sum' op needs a float or int array, got tensor<3xi1>}}
  %0 = "qb.sum"(%b) {axis = array<i64: 0>} : (tensor<3xi1>) -> tensor<i1>
  return
}

// -----

func.func @f(%e: tensor<0xf64>) {
  // expected-error @below {{'qb.max' op no elements along axes [0] of tensor<0xf64>}}
  %0 = "qb.max"(%e) {axis = array<i64: 0>} : (tensor<0xf64>) -> tensor<f64>
  return
}

// -----

func.func @f(%b: tensor<3xi1>) {
  // expected-error @below {{'qb.cumsum' op needs a float or int array, got tensor<3xi1>}}
  %0 = "qb.cumsum"(%b) {axis = 0, reverse = false} : (tensor<3xi1>) -> tensor<3xi1>
  return
}

// -----

func.func @f(%x: tensor<3xf64>) {
  // expected-error @below {{'qb.cumsum' op axis 1 is out of range for tensor<3xf64>}}
  %0 = "qb.cumsum"(%x) {axis = 1, reverse = false} : (tensor<3xf64>) -> tensor<3xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf64>, %m: tensor<2x3xf64>) {
  // expected-error @below {{'qb.matmul' op needs two matrices or stacks of matrices, got tensor<3xf64> and tensor<2x3xf64>}}
  %0 = "qb.matmul"(%x, %m) : (tensor<3xf64>, tensor<2x3xf64>) -> tensor<3xf64>
  return
}

// -----

func.func @f(%m: tensor<2x3xf64>) {
  // expected-error @below {{'qb.matmul' op 3 columns of tensor<2x3xf64> do not meet 2 rows of tensor<2x3xf64>}}
  %0 = "qb.matmul"(%m, %m) : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return
}

// -----

func.func @f(%m: tensor<2x3xf64>, %f: tensor<3x2xf32>) {
  // expected-error @below {{'qb.matmul' op needs two arrays of one float dtype, got tensor<2x3xf64> and tensor<3x2xf32>}}
  %0 = "qb.matmul"(%m, %f) : (tensor<2x3xf64>, tensor<3x2xf32>) -> tensor<2x2xf64>
  return
}

// -----

func.func @f(%p: tensor<2x2x2xf64>, %q: tensor<3x2x2xf64>) {
  // expected-error @below {{'qb.matmul' op the leading axes of tensor<2x2x2xf64> and tensor<3x2x2xf64> do not broadcast}}
  %0 = "qb.matmul"(%p, %q) : (tensor<2x2x2xf64>, tensor<3x2x2xf64>) -> tensor<2x2x2xf64>
  return
}

// -----

func.func @f(%a: tensor<2x2xf64>, %b: tensor<2xf64>) {
  // expected-error @below {{'qb.solve' op needs matrices in the last two axes, got tensor<2xf64>}}
  %0 = "qb.solve"(%a, %b) : (tensor<2x2xf64>, tensor<2xf64>) -> tensor<2xf64>
  return
}

// -----

func.func @f(%a: tensor<2x3xf64>, %b: tensor<2x1xf64>) {
  // expected-error @below {{'qb.solve' op needs square matrices in the last two axes, got tensor<2x3xf64>}}
  %0 = "qb.solve"(%a, %b) : (tensor<2x3xf64>, tensor<2x1xf64>) -> tensor<2x1xf64>
  return
}

// -----

func.func @f(%a: tensor<2x2xf64>, %b: tensor<3x1xf64>) {
  // expected-error @below {{'qb.solve' op the matrix of tensor<2x2xf64> does not fit the 3 rows of tensor<3x1xf64>}}
  %0 = "qb.solve"(%a, %b) : (tensor<2x2xf64>, tensor<3x1xf64>) -> tensor<3x1xf64>
  return
}

// -----

func.func @f(%a: tensor<2x2xf64>, %b: tensor<2x1xf32>) {
  // expected-error @below {{'qb.solve' op needs arrays of one float dtype, got tensor<2x2xf64> and tensor<2x1xf32>}}
  %0 = "qb.solve"(%a, %b) : (tensor<2x2xf64>, tensor<2x1xf32>) -> tensor<2x1xf32>
  return
}

// -----

func.func @f(%a: tensor<2x2x2xf64>, %b: tensor<3x2x1xf64>) {
  // expected-error @below {{'qb.solve' op the leading axes of tensor<2x2x2xf64> and tensor<3x2x1xf64> do not broadcast}}
  %0 = "qb.solve"(%a, %b) : (tensor<2x2x2xf64>, tensor<3x2x1xf64>) -> tensor<3x2x1xf64>
  return
}

// -----

func.func @f(%a: tensor<2x2xi1>) {
  // expected-error @below {{'qb.eigh_values' op needs a float array, got tensor<2x2xi1>}}
  %0 = "qb.eigh_values"(%a) : (tensor<2x2xi1>) -> tensor<2xi1>
  return
}

// -----

func.func @f(%a: tensor<2x2xf64>, %b: tensor<3xf64>) {
  // expected-error @below {{'qb.pinv' op needs a tolerance for the matrices, got tensor<3xf64> for tensor<2x2xf64>}}
  %0 = "qb.pinv"(%a, %b) : (tensor<2x2xf64>, tensor<3xf64>) -> tensor<2x2xf64>
  return
}
