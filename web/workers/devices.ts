/**
 * Keeps hold of the WebGPU devices that the engine opens: so that a lost one is told at once and not only at the next
 * question, and so that the memory of a model that is given up is free before the next one is loaded.
 */

let open: GPUDevice[] = [];
const released = new WeakSet<GPUDevice>();

export function watchDevices(lost: (reason: string) => void): void {
  if (!("GPUAdapter" in self)) return;
  const request = GPUAdapter.prototype.requestDevice;
  GPUAdapter.prototype.requestDevice = async function (this: GPUAdapter, descriptor?: GPUDeviceDescriptor) {
    const device = await request.call(this, descriptor);
    open.push(device);
    void device.lost.then((info) => {
      open = open.filter((each) => each !== device);
      if (!released.has(device)) lost(info.message || info.reason);
    });
    return device;
  };
}

/** Gives the memory of all devices back. */
export function releaseDevices(): void {
  for (const device of open) {
    released.add(device);
    device.destroy();
  }
  open = [];
}

/** For tests: what a crash of the driver does. */
export function destroyDevices(): void {
  for (const device of open) device.destroy();
}
