// Test runs of the editor are told from others by a label. Runs that continue them, and those that they start, have it too.
const label = 'hocket/test-run'

// testLabels are the labels that a test run is started with.
export const testLabels: Readonly<Record<string, string>> = {[label]: 'true'}

// isTest tells by the labels of a run whether it is a test run.
export const isTest = (labels: unknown): boolean =>
  (labels as Record<string, unknown> | null | undefined)?.[label] === testLabels[label]
