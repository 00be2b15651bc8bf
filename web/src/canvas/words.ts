import {
  Bot,
  Braces,
  CircleHelp,
  GitFork,
  type LucideIcon,
  MessageCircleQuestion,
  Play,
  ShieldCheck,
  Workflow,
  Wrench,
} from 'lucide-react'
import type {Kind} from './document.ts'

type Words = {word: string; hint: string; icon: LucideIcon}

// wordsOf has the names and descriptions of the kinds.
export const wordsOf: Record<Kind, Words> = {
  start: {word: 'Start', hint: 'Where a run begins, with its input', icon: Play},
  agent: {word: 'Agent', hint: 'A model with a prompt and tools', icon: Bot},
  if: {word: 'If', hint: 'Chooses a way by the output before', icon: GitFork},
  approval: {word: 'Approval', hint: 'Waits until a person approves or rejects', icon: ShieldCheck},
  tool: {word: 'Tool', hint: 'Calls a tool', icon: Wrench},
  workflow: {word: 'Workflow', hint: 'Runs another workflow', icon: Workflow},
  set: {word: 'Set', hint: 'Makes a value', icon: Braces},
  ask: {word: 'Ask', hint: 'Asks a person', icon: MessageCircleQuestion},
}

export const unknownKind: Words = {word: 'Unknown type', hint: 'The type of this node is not known', icon: CircleHelp}

export const kindWords = (kind: Kind | null): Words => (kind ? wordsOf[kind] : unknownKind)
