/**
 * Compares two resourceVersions. They are decimal numbers of any length and comparable between
 * objects of one kind (KEP-5504, Kubernetes 1.35); earlier servers keep to the same form. Returns 0
 * if one of them is not a number: callers must not conclude anything then.
 */
export function compareVersions(one: string, other: string): number {
  if (!/^\d+$/.test(one) || !/^\d+$/.test(other)) return 0;
  if (one.length !== other.length) return one.length - other.length;
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
