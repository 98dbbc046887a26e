#include "model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace firebrick {
namespace {

double ScaleLlama3(double frequency, const RopeConfig& config) {
  const double wavelength = 2.0 * std::numbers::pi / frequency;
  const double length = config.original_max_position;
  if (wavelength < length / config.high_freq_factor) return frequency;
  if (wavelength > length / config.low_freq_factor) return frequency / config.factor;
  const double band = config.high_freq_factor - config.low_freq_factor;
  if (band <= 0.0) return frequency;  // an empty band: only its border can come here
  const double smooth = (length / wavelength - config.low_freq_factor) / band;
  return (1.0 - smooth) * frequency / config.factor + smooth * frequency;
}

// Index of the pair that turns `beta` times over the original length.
double YarnCorrection(double beta, const RopeConfig& config) {
  return config.rotary_dim * std::log(config.original_max_position / (beta * 2.0 * std::numbers::pi)) /
         (2.0 * std::log(config.theta));
}

// Pairs that turn often keep their frequency, pairs that turn seldom are interpolated, between lies a ramp.
void ScaleYarn(const RopeConfig& config, std::vector<double>& frequencies) {
  double low = YarnCorrection(config.beta_fast, config);
  double high = YarnCorrection(config.beta_slow, config);
  if (config.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(config.rotary_dim - 1));
  if (low == high) high += 0.001;
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    frequencies[i] = frequencies[i] / config.factor * ramp + frequencies[i] * (1.0 - ramp);
  }
}

}  // namespace

std::vector<float> RopeFrequencies(const RopeConfig& config) {
  std::vector<double> frequencies(static_cast<size_t>(config.rotary_dim) / 2);
  for (size_t i = 0; i < frequencies.size(); ++i) {
    frequencies[i] = std::pow(config.theta, -2.0 * static_cast<double>(i) / config.rotary_dim);
  }
  switch (config.scaling) {
    case RopeScaling::kNone:
      break;
    case RopeScaling::kLinear:
      for (double& frequency : frequencies) frequency /= config.factor;
      break;
    case RopeScaling::kLlama3:
      for (double& frequency : frequencies) frequency = ScaleLlama3(frequency, config);
      break;
    case RopeScaling::kYarn:
      ScaleYarn(config, frequencies);
      break;
  }
  std::vector<float> out(frequencies.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const double divisor = config.freq_divisors.empty() ? 1.0 : config.freq_divisors[i];
    out[i] = static_cast<float>(frequencies[i] / divisor);
  }
  return out;
}

}  // namespace firebrick
