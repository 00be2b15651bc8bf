var e=/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]/g,t=e=>`U+${e.codePointAt(0).toString(16).toUpperCase().padStart(4,`0`)}`;function n(n){let r=n.replaceAll(`\r
`,`
`),i=[],a=0;for(let n of r.matchAll(e))n.index>a&&i.push({text:r.slice(a,n.index),odd:!1}),i.push({text:t(n[0]),odd:!0}),a=n.index+n[0].length;return a<r.length&&i.push({text:r.slice(a),odd:!1}),i}var r=n=>n.replaceAll(`\r
`,`
`).replace(e,e=>`‹${t(e)}›`);export{e as n,n as r,r as t};