export const leaseNamespace = 'medik8s-leases';
export const operatorNamespace = 'drydock-system';
