// Test runs of the editor are distinguished by a label, which runs that continue them and their
// child runs also have.
const label = 'hocket/test-run'

// testLabels are the labels with which a test run is started.
export const testLabels: Readonly<Record<string, string>> = {[label]: 'true'}

// isTest reports, from the labels of a run, whether it is a test run.
export const isTest = (labels: unknown): boolean =>
  (labels as Record<string, unknown> | null | undefined)?.[label] === testLabels[label]
