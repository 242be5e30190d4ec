/** Addresses that take signed events. */
export function EventSourceList() {
  return null;
}
