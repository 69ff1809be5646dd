/** Offers a file to the person. */
export function saveFile(data: Blob, name: string): void {
  const address = URL.createObjectURL(data);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser has taken the data by then.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
