/**
 * Whether the adapter computes what it should. Some return wrong numbers without any error, so before anybody downloads
 * a gigabyte a few kernels run on numbers whose results are known exactly: products of small whole numbers, which every
 * order of adding gives alike. In f32, as the engine's kernels are, and in f16 and with subgroups where the adapter has
 * them, so that it is known which variants could be trusted.
 */

// The values of GPUBufferUsage and GPUMapMode, which TypeScript's own library does not declare.
const MAP_READ = 1;
const COPY_SRC = 4;
const COPY_DST = 8;
const STORAGE = 128;

const ROWS = 64;
const COLUMNS = 256;

/** Packed bytes of weights and whole-number inputs, as in a quantised matrix. */
function operands(): { weights: Int8Array<ArrayBuffer>; inputs: Float32Array<ArrayBuffer>; answers: number[] } {
  const weights = new Int8Array(ROWS * COLUMNS).map((_, at) => ((at * 37) % 15) - 7);
  const inputs = new Float32Array(COLUMNS).map((_, at) => ((at * 11) % 5) - 2);
  const answers = Array.from({ length: ROWS }, (_, row) => inputs.reduce((sum, input, column) => sum + input * (weights[row * COLUMNS + column] ?? 0), 0));
  return { weights, inputs, answers };
}

const BINDINGS = `
@group(0) @binding(0) var<storage, read> weights: array<u32>;
@group(0) @binding(1) var<storage, read> inputs: array<f32>;
@group(0) @binding(2) var<storage, read_write> sums: array<f32>;
const WORDS = ${COLUMNS / 4}u;
fn unpack(word: u32) -> vec4<f32> { return vec4<f32>(vec4<i32>(i32(word << 24u) >> 24u, i32(word << 16u) >> 24u, i32(word << 8u) >> 24u, i32(word) >> 24u)); }
fn input(word: u32) -> vec4<f32> { return vec4<f32>(inputs[4u * word], inputs[4u * word + 1u], inputs[4u * word + 2u], inputs[4u * word + 3u]); }
`;

interface Variant {
  name: string;
  feature: GPUFeatureName | null;
  code: string;
}

const VARIANTS: Variant[] = [
  {
    name: "f32",
    feature: null,
    code: `${BINDINGS}
var<workgroup> parts: array<f32, ${COLUMNS / 4}>;
@compute @workgroup_size(${COLUMNS / 4}) fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  parts[lane] = dot(unpack(weights[group.x * WORDS + lane]), input(lane));
  for (var step = WORDS / 2u; step > 0u; step /= 2u) {
    workgroupBarrier();
    if (lane < step) { parts[lane] += parts[lane + step]; }
  }
  if (lane == 0u) { sums[group.x] = parts[0]; }
}`,
  },
  {
    name: "f16",
    feature: "shader-f16",
    code: `enable f16;
${BINDINGS}
@compute @workgroup_size(1) fn main(@builtin(workgroup_id) group: vec3<u32>) {
  var sum = 0.0;
  for (var word = 0u; word < WORDS; word++) { sum += f32(dot(vec4<f16>(unpack(weights[group.x * WORDS + word])), vec4<f16>(input(word)))); }
  sums[group.x] = sum;
}`,
  },
  {
    name: "subgroups",
    feature: "subgroups" as GPUFeatureName,
    code: `enable subgroups;
${BINDINGS}
var<workgroup> parts: array<f32, ${COLUMNS / 4}>;
@compute @workgroup_size(${COLUMNS / 4}) fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32, @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) inside: u32) {
  let sum = subgroupAdd(dot(unpack(weights[group.x * WORDS + lane]), input(lane)));
  parts[lane] = select(0.0, sum, inside == 0u);
  workgroupBarrier();
  if (lane == 0u) {
    var total = 0.0;
    for (var at = 0u; at < WORDS; at++) { total += parts[at]; }
    sums[group.x] = total;
  }
}`,
  },
];

/** Runs every variant that the adapter has. In words: which passed, and which are not to be trusted. */
export async function selfTest(): Promise<string> {
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
  if (adapter === null) throw new Error("no graphics adapter was found");
  const variants = VARIANTS.filter((variant) => variant.feature === null || adapter.features.has(variant.feature));
  const device = await adapter.requestDevice({ requiredFeatures: variants.flatMap((variant) => variant.feature ?? []) });
  const { weights, inputs, answers } = operands();
  const passed: string[] = [];
  const failed: string[] = [];
  for (const variant of variants) {
    const found = await run(device, variant.code, weights, inputs).catch(() => null);
    const right = found !== null && found.every((sum, row) => sum === answers[row]);
    (right ? passed : failed).push(variant.name);
  }
  if (failed.includes("f32")) {
    const name = adapter.info.description || adapter.info.vendor || "of this browser";
    throw new Error(`The adapter ${name} computes wrong numbers. Update its driver, or use another browser, another graphics adapter, or the command-line program`);
  }
  return `${passed.join(", ")} right${failed.length > 0 ? `, ${failed.join(", ")} wrong and not used` : ""}`;
}

async function run(device: GPUDevice, code: string, weights: Int8Array<ArrayBuffer>, inputs: Float32Array<ArrayBuffer>): Promise<number[]> {
  const buffer = (size: number, usage: number): GPUBuffer => device.createBuffer({ size, usage });
  const matrix = buffer(weights.byteLength, STORAGE | COPY_DST);
  const vector = buffer(inputs.byteLength, STORAGE | COPY_DST);
  const sums = buffer(4 * ROWS, STORAGE | COPY_SRC);
  const read = buffer(4 * ROWS, MAP_READ | COPY_DST);
  device.queue.writeBuffer(matrix, 0, weights);
  device.queue.writeBuffer(vector, 0, inputs);
  const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute: { module: device.createShaderModule({ code }), entryPoint: "main" } });
  const group = device.createBindGroup({
    layout: pipeline.getBindGroupLayout(0),
    entries: [matrix, vector, sums].map((each, binding) => ({ binding, resource: { buffer: each } })),
  });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(ROWS);
  pass.end();
  encoder.copyBufferToBuffer(sums, 0, read, 0, 4 * ROWS);
  device.queue.submit([encoder.finish()]);
  await read.mapAsync(MAP_READ);
  return Array.from(new Float32Array(read.getMappedRange()));
}
