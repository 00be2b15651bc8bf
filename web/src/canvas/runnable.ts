import type {Problem} from './problem.ts'

export type Facts = {
  role: boolean // whether the session may run documents that are not stored
  checked: boolean // whether the current text was checked
  failed: boolean // whether the server could not be reached
  problems: readonly Problem[]
  running: boolean
}

// whyNot returns why a test run cannot start, or '' if it can.
export function whyNot({role, checked, failed, problems, running}: Facts): string {
  if (!role) return 'Your role may not run documents that are not stored.'
  if (failed) return 'The server did not answer whether the document is right.'
  if (!checked) return 'The document is being checked.'
  const errors = problems.filter(p => p.severity === 'error')
  if (errors.length === 1) return `It cannot run: ${errors[0]!.message}`
  if (errors.length > 1) return `It cannot run: ${errors.length} errors, the first is: ${errors[0]!.message}`
  return running ? 'The test run before has not ended.' : ''
}
