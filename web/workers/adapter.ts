/** What can be asked of an adapter before any device is opened. */

import type { Adapter } from "../state";

/** What every kernel needs: the limits of plain WebGPU. */
const NEEDED = {
  maxStorageBufferBindingSize: 128 * 1024 * 1024,
  maxStorageBuffersPerShaderStage: 8,
  maxComputeInvocationsPerWorkgroup: 256,
  maxComputeWorkgroupStorageSize: 16_384,
} as const;

export type Found = { kind: "missing"; problem: string } | { kind: "wrong"; adapter: Adapter; problem: string } | { kind: "found"; adapter: Adapter };

export async function findAdapter(): Promise<Found> {
  if (!("gpu" in navigator)) return { kind: "missing", problem: withoutWebGpu() };
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" }).catch(() => null);
  if (adapter === null) {
    return {
      kind: "missing",
      problem: "This browser has WebGPU but found no graphics adapter that it trusts. Turn on hardware acceleration in its settings, update the graphics driver, or look at chrome://gpu (about:support in Firefox) for the reason",
    };
  }
  const { info, limits } = adapter;
  const words = [info.vendor, info.description || info.architecture || info.device].filter((word) => word !== "");
  const software = info.isFallbackAdapter === true || /swiftshader|llvmpipe|basic render/i.test(words.join(" "));
  const found: Adapter = {
    name: (words.join(" ") || "unnamed adapter") + (software ? " (software)" : ""),
    software,
    maxBuffer: limits.maxBufferSize,
    maxBinding: limits.maxStorageBufferBindingSize,
    features: [...adapter.features].sort(),
    test: "",
    testing: false,
  };
  for (const [name, needed] of Object.entries(NEEDED)) {
    const offered = limits[name as keyof typeof NEEDED];
    if (offered < needed) {
      return { kind: "wrong", adapter: found, problem: `The adapter ${found.name} offers ${name} ${offered}, and the kernels need ${needed}. Use another graphics adapter, or the command-line program with --device cpu` };
    }
  }
  return { kind: "found", adapter: found };
}

function withoutWebGpu(): string {
  if (!self.isSecureContext) return "WebGPU is only there on https and on localhost. Open this page at such an address";
  const agent = navigator.userAgent;
  if (/Firefox\//.test(agent)) {
    return "This Firefox has WebGPU switched off. It is on in current Firefox on Windows and macOS; elsewhere set dom.webgpu.enabled in about:config, or use Chrome or Edge";
  }
  if (/Chrome\//.test(agent)) {
    return "This Chrome has WebGPU switched off for this system. Update it, or start it with chrome://flags/#enable-unsafe-webgpu turned on";
  }
  if (/Safari\//.test(agent)) return "This Safari has no WebGPU. It came with Safari 26; update the system, or use Chrome or Edge";
  return "This browser has no WebGPU. Current Chrome, Edge, Firefox and Safari have it";
}
