// RUN: qb-opt %s --emit=mlx --split-input-file --verify-diagnostics
// What MLX cannot run is said at once, with the op.

// expected-error@unknown {{cannot emit mlx: mlx cannot run fft: there is no translation of it}}
func.func @op(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = stablehlo.fft %x, type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// -----

// expected-error@unknown {{cannot emit mlx: mlx cannot run bf16: MLX has no such dtype}}
func.func @dtype(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = stablehlo.add %x, %x : tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// -----

// expected-error@unknown {{cannot emit mlx: mlx cannot run qb.unheard: there is no translation of it}}
func.func @call(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @qb.unheard(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
