/**
 * Keeps hold of the WebGPU device that the engine opens: so that a lost one is told at once and not only at the next
 * question, and so that the memory of a model that is given up is free before the next one is loaded.
 */

let current: GPUDevice | null = null;
const released = new WeakSet<GPUDevice>();

export function watchDevices(lost: (reason: string) => void): void {
  if (!("GPUAdapter" in self)) return;
  const request = GPUAdapter.prototype.requestDevice;
  GPUAdapter.prototype.requestDevice = async function (this: GPUAdapter, descriptor?: GPUDeviceDescriptor) {
    const device = await request.call(this, descriptor);
    current = device;
    void device.lost.then((info) => {
      if (!released.has(device)) lost(info.message || info.reason);
    });
    return device;
  };
}

/** Gives the memory of the present device back. */
export function releaseDevice(): void {
  if (current === null) return;
  released.add(current);
  current.destroy();
  current = null;
}

/** For tests: what a crash of the driver does. */
export function destroyDevice(): void {
  current?.destroy();
}
