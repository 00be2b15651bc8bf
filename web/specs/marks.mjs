// For each diagnostic code that a document can have, the marks of the text editor cover the same
// characters that the command line names, including in text beyond ASCII.
import {execFileSync} from 'node:child_process'
import {readdirSync, readFileSync} from 'node:fs'
import {caller, check, settled, signIn, until, withPages} from './lib.mjs'

const folder = new URL('../../internal/e2e/testdata/marks/', import.meta.url)

// reportedProblems returns the problems that the program reports, by file.
function reportedProblems(program, home, names) {
  const options = {
    cwd: folder.pathname,
    env: {HOME: home, HOCKET_HOME: home, PATH: process.env.PATH},
    encoding: 'utf8',
    maxBuffer: 1 << 26,
    stdio: ['ignore', 'pipe', 'pipe'],
  }
  let out = ''
  try {
    out = execFileSync(program, ['validate', '--json', ...names], options)
  } catch (err) {
    out = err.stdout
  }
  return JSON.parse(out)
}

// expectedMarks returns the marks that are expected: the UTF-16 offsets of ranges, and points for
// problems without characters. Line endings are not shown.
function expectedMarks(text, problems) {
  const bytes = Buffer.from(text)
  const unit = byte => bytes.subarray(0, byte).toString().length
  const covered = new Set()
  const points = new Set()
  for (const {span} of problems) {
    if (!span.start.line) continue
    const from = unit(span.start.offset ?? 0)
    const to = Math.max(from, unit(span.end?.offset ?? 0))
    const shown = [...Array(to - from).keys()].map(i => from + i).filter(i => text[i] !== '\n')
    if (shown.length === 0) points.add(from)
    for (const i of shown) covered.add(i)
  }
  return {
    covered: [...covered].sort((a, b) => a - b),
    points: [...points].filter(p => !covered.has(p)).sort((a, b) => a - b),
  }
}

// shownMarks returns the marks that the editor shows in the same form, from the content of its
// lines.
const shownMarks = page =>
  page.evaluate(() => {
    const covered = []
    const points = []
    let offset = 0
    for (const line of document.querySelectorAll('.cm-content .cm-line')) {
      const walk = (node, on) => {
        if (node.nodeType === Node.TEXT_NODE) {
          for (let i = 0; i < node.data.length; i++) if (on) covered.push(offset + i)
          offset += node.data.length
          return
        }
        if (node.classList.contains('cm-lintPoint')) points.push(offset)
        // A character without a glyph is shown as a sign that is one unit long.
        if (node.classList.contains('cm-specialChar')) {
          if (on) covered.push(offset)
          offset++
          return
        }
        if (node.contentEditable === 'false' || node.classList.contains('cm-widgetBuffer')) return
        const under = on || /cm-lintRange/.test(node.className)
        for (const child of node.childNodes) walk(child, under)
      }
      walk(line, false)
      offset++
    }
    return {covered, points: [...new Set(points)].filter(p => !covered.includes(p))}
  })

// paste replaces the whole text.
const paste = (page, text) =>
  page.evaluate(t => {
    const content = document.querySelector('.cm-content')
    const data = new DataTransfer()
    data.setData('text/plain', t)
    content.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}))
  }, text)

const shortly = list => (list.length > 12 ? `${list.slice(0, 12)}… (${list.length})` : `${list}`)

export const spec = (browser, {origin, token, program, home}) =>
  withPages(browser, origin, async ({open}) => {
    const api = caller(origin, token)
    await api('/workflows', {id: 'marks', document: 'workflow:\n  - {id: a, type: end}\n'})
    const names = readdirSync(folder).filter(n => /\.(json|yaml)$/.test(n))
    const problems = reportedProblems(program, home, names)
    // All lines are drawn if the window is tall enough.
    const page = await open({viewport: {width: 1800, height: 3000}})
    await signIn(page, origin, token)
    await page.goto(`${origin}/workflows/marks/edit?pane=text`)
    await settled(page)
    const area = page.getByRole('textbox', {name: 'Document', exact: true})
    await area.click()
    const wrong = []
    for (const name of names) {
      const text = readFileSync(new URL(name, folder), 'utf8')
      const own = problems.filter(p => p.span.file === name)
      const code = name.replace(/\.\w+$/, '')
      check(
        `${name} has its code`,
        own.some(p => p.code === code),
      )
      const want = expectedMarks(text, own)
      const answered = page.waitForResponse(
        r => r.url().endsWith('/documents/compile') && r.request().postDataJSON().document === text,
        {timeout: 20_000},
      )
      await page.keyboard.press('Control+a')
      await paste(page, text)
      const codes = ((await (await answered).json()).diagnostics ?? []).map(d => d.code).sort()
      check(
        `${name} has the problems of the command line`,
        `${codes}` === `${own.map(p => p.code).sort()}`,
        `${codes} and not ${own.map(p => p.code).sort()}`,
      )
      const show = ({covered, points}) => {
        const first = covered.slice(0, 40).map(i => text[i])
        return `${shortly(covered)} "${first.join('')}" points ${points}`
      }
      let got
      const isMarked = async () => {
        got = await shownMarks(page)
        return JSON.stringify(got) === JSON.stringify(want)
      }
      await until(`${name} is marked`, isMarked, () => `marked are ${show(got)}, named are ${show(want)}`).catch(err =>
        wrong.push(err.message),
      )
      if (wrong.length > 5) break
    }
    check('the marks cover what the command line names', wrong.length === 0, `\n${wrong.join('\n')}`)
    check('there are many codes', names.length > 100, names.length)
  })
