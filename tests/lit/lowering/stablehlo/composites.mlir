// RUN: qb-opt %s --convert-qb-to-stablehlo | filecheck %s
// The name that StableHLO lacks, with a private function that says what it means.

// CHECK-LABEL: func.func public @arcsin(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.composite "qb.arcsin" %[[X]] {{.*}}decomposition = @qb.arcsin.f64.4{{.*}} : (tensor<4xf64>) -> tensor<4xf64>
func.func @arcsin(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.arcsin"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @arccos(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.composite "qb.arccos" %[[X]] {{.*}}decomposition = @qb.arccos.f64.4{{.*}} : (tensor<4xf64>) -> tensor<4xf64>
func.func @arccos(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.arccos"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @arctan(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.composite "qb.arctan" %[[X]] {{.*}}decomposition = @qb.arctan.f64.4{{.*}} : (tensor<4xf64>) -> tensor<4xf64>
func.func @arctan(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.arctan"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @sinh(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.composite "qb.sinh" %[[X]] {{.*}}decomposition = @qb.sinh.f64.4{{.*}} : (tensor<4xf64>) -> tensor<4xf64>
func.func @sinh(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.sinh"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @cosh(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.composite "qb.cosh" %[[X]] {{.*}}decomposition = @qb.cosh.f64.4{{.*}} : (tensor<4xf64>) -> tensor<4xf64>
func.func @cosh(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.cosh"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @sech2(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.composite "qb.sech2" %[[X]] {{.*}}decomposition = @qb.sech2.f64.4{{.*}} : (tensor<4xf64>) -> tensor<4xf64>
func.func @sech2(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.sech2"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @arcsinh(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.composite "qb.arcsinh" %[[X]] {{.*}}decomposition = @qb.arcsinh.f64.4{{.*}} : (tensor<4xf64>) -> tensor<4xf64>
func.func @arcsinh(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.arcsinh"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @arccosh(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.composite "qb.arccosh" %[[X]] {{.*}}decomposition = @qb.arccosh.f64.4{{.*}} : (tensor<4xf64>) -> tensor<4xf64>
func.func @arccosh(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.arccosh"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @arctanh(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.composite "qb.arctanh" %[[X]] {{.*}}decomposition = @qb.arctanh.f64.4{{.*}} : (tensor<4xf64>) -> tensor<4xf64>
func.func @arctanh(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.arctanh"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @softplus(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.composite "qb.softplus" %[[X]] {{.*}}decomposition = @qb.softplus.f64.4{{.*}} : (tensor<4xf64>) -> tensor<4xf64>
func.func @softplus(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.softplus"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @log2(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.composite "qb.log2" %[[X]] {{.*}}decomposition = @qb.log2.f64.4{{.*}} : (tensor<4xf64>) -> tensor<4xf64>
func.func @log2(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.log2"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @log10(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.composite "qb.log10" %[[X]] {{.*}}decomposition = @qb.log10.f64.4{{.*}} : (tensor<4xf64>) -> tensor<4xf64>
func.func @log10(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.log10"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @erf(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.composite "qb.erf" %[[X]] {{.*}}decomposition = @qb.erf.f64.4{{.*}} : (tensor<4xf64>) -> tensor<4xf64>
func.func @erf(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.erf"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @erfc(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.composite "qb.erfc" %[[X]] {{.*}}decomposition = @qb.erfc.f64.4{{.*}} : (tensor<4xf64>) -> tensor<4xf64>
func.func @erfc(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.erfc"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @normal_cdf(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.composite "qb.normal_cdf" %[[X]] {{.*}}decomposition = @qb.normal_cdf.f64.4{{.*}} : (tensor<4xf64>) -> tensor<4xf64>
func.func @normal_cdf(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.normal_cdf"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @bell(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.composite "qb.bell" %[[X]] {{.*}}decomposition = @qb.bell.f64.4{{.*}} : (tensor<4xf64>) -> tensor<4xf64>
func.func @bell(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.bell"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @direction(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf64>
// CHECK-SAME: %[[Y:[^:]*]]: tensor<4xf64>
// CHECK: stablehlo.composite "qb.direction" %[[X]], %[[Y]] {{.*}}decomposition = @qb.direction.f64.4
func.func @direction(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.direction"(%x, %y) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @hypot(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf64>
// CHECK-SAME: %[[Y:[^:]*]]: tensor<4xf64>
// CHECK: stablehlo.composite "qb.hypot" %[[X]], %[[Y]] {{.*}}decomposition = @qb.hypot.f64.4
func.func @hypot(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.hypot"(%x, %y) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @last(
func.func @last(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.neg"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// The decomposition that @erf refers to, once for all functions of the module.
// CHECK: func.func private @qb.erf.f64.4(%{{.*}}: tensor<4xf64>) -> tensor<4xf64>
