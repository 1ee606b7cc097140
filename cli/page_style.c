/* The page's style, as it is sent: the page is one file, and so is the
 * command. */
#include "cli/page.h"

/* clang-format off */
static const char *const style[] = {
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1c1e21;--muted:#5f6368;\n",
    "--line:#d3d7dc;--soft:#f2f4f7;--focus:#1a56b0;\n",
    "--o0:#dcefdc;--t0:#1f4d1f;--o1:#dbe6f6;--t1:#1d3f70;--o2:#ffecb3;"
    "--t2:#5c4100;\n",
    "--o3:#ffd9b0;--t3:#6e3600;--o4:#e6d8f8;--t4:#4b2685;--o5:#cfc6f2;"
    "--t5:#372070;\n",
    "--o6:#ffc9da;--t6:#7d0f35;--o7:#b3261e;--t7:#fff;--o8:#e3e5e8;"
    "--t8:#4b5056}\n",
    "@media (prefers-color-scheme:dark){:root{--bg:#16181c;--fg:#e4e6ea;\n",
    "--muted:#a0a6ad;--line:#3a3f47;--soft:#20242a;--focus:#8ab4f8;\n",
    "--o0:#1d3521;--t0:#a9dcae;--o1:#1f3353;--t1:#b3cdf5;--o2:#4d3b08;"
    "--t2:#ffdf80;\n",
    "--o3:#5a3410;--t3:#ffc894;--o4:#3b2a5c;--t4:#d9c3ff;--o5:#4a3b8c;"
    "--t5:#e0d8ff;\n",
    "--o6:#641c38;--t6:#ffb8cd;--o7:#e5483f;--t7:#1a0605;--o8:#33373d;"
    "--t8:#b6bbc2}}\n",
    "*{box-sizing:border-box}\n",
    "body{margin:0;background:var(--bg);color:var(--fg);\n",
    "font:15px/1.45 system-ui,sans-serif}\n",
    "main{padding:1rem 1.25rem 6rem;max-width:110rem}\n",
    "h1{font-size:1.45rem;margin:.2rem 0 1rem}\n",
    "h2{font-size:1.1rem;margin:1.2rem 0 .2rem;overflow-wrap:anywhere}\n",
    "h3{font-size:1rem;margin:1rem 0 .3rem}\n",
    "p{margin:.3rem 0}.m{color:var(--muted)}\n",
    "button{font:inherit;color:inherit;background:none;border:1px solid "
    "var(--line);\n",
    "border-radius:5px;padding:.1rem .5rem;cursor:pointer}\n",
    "button:focus-visible,summary:focus-visible{outline:3px solid "
    "var(--focus);\n",
    "outline-offset:1px}\n",
    "table{border-collapse:collapse;margin:.4rem 0}\n",
    "th,td{text-align:left;vertical-align:top;padding:.2rem .9rem .2rem 0;\n",
    "border-bottom:1px solid var(--line);overflow-wrap:anywhere}\n",
    "td:first-child{white-space:nowrap}\n",
    "th.n,td.n{text-align:right;font-variant-numeric:tabular-nums}\n",
    ".t{border:0;padding:0;text-align:left;text-decoration:underline dotted}\n",
    ".t[aria-pressed=true]{font-weight:bold;text-decoration:underline}\n",
    ".broken td{color:var(--o7);font-weight:bold}\n",
    ".c{display:inline-block;width:1.3rem;height:1.3rem;line-height:1.3rem;\n",
    "text-align:center;border-radius:3px;\n",
    "font:bold .8rem/1.3rem ui-monospace,Menlo,Consolas,monospace}\n",
    ".o0{background:var(--o0);color:var(--t0)}.o1{background:var(--o1);"
    "color:var(--t1)}\n",
    ".o2{background:var(--o2);color:var(--t2)}.o3{background:var(--o3);"
    "color:var(--t3)}\n",
    ".o4{background:var(--o4);color:var(--t4)}.o5{background:var(--o5);"
    "color:var(--t5)}\n",
    ".o6{background:var(--o6);color:var(--t6)}.o7{background:var(--o7);"
    "color:var(--t7)}\n",
    ".o8{background:var(--o8);color:var(--t8)}\n",
    "#filter{display:flex;flex-wrap:wrap;gap:.35rem;margin:.6rem 0}\n",
    ".f[aria-pressed=true]{border-color:var(--focus);background:var(--soft);\n",
    "box-shadow:0 0 0 1px var(--focus)}\n",
    ".part{margin:.8rem 0;border-top:1px solid "
    "var(--line);padding-top:.5rem}\n",
    ".part>summary{font-weight:bold;cursor:pointer;overflow-wrap:anywhere}\n",
    ".row{display:flex;gap:.6rem;padding:.1rem 0;content-visibility:auto;\n",
    "contain-intrinsic-size:auto 1.6rem}\n",
    ".row:hover{background:var(--soft)}\n",
    ".label{flex:0 0 13.5rem;text-align:right;white-space:nowrap;\n",
    "font:.8rem/1.4rem ui-monospace,Menlo,Consolas,monospace}\n",
    ".cells{display:flex;flex-wrap:wrap;gap:2px;flex:1}\n",
    ".cells "
    "button{border:0;padding:0;width:1.3rem;height:1.3rem;border-radius:3px;\n",
    "font:bold .8rem/1.3rem ui-monospace,Menlo,Consolas,monospace}\n",
    ".cells button:nth-child(10n){margin-right:5px}\n",
    ".cells .b{outline:3px solid var(--o7);outline-offset:-1px}\n",
    ".cells .dim{opacity:.16}\n",
    ".cells .on{box-shadow:0 0 0 3px var(--focus)}\n",
    "#panel{position:fixed;top:0;right:0;bottom:0;width:min(34rem,46vw);\n",
    "overflow:auto;background:var(--bg);border-left:1px solid var(--line);\n",
    "padding:.8rem 1rem 2rem;box-shadow:-4px 0 14px #0003}\n",
    "body.open main{margin-right:min(34rem,46vw)}\n",
    "#panel "
    "header{display:flex;justify-content:space-between;align-items:start;\n",
    "gap:1rem;position:sticky;top:-.8rem;background:var(--bg);padding:.4rem "
    "0}\n",
    "#panel header h2{margin:0}\n",
    "#panel details{border-bottom:1px solid var(--line);padding:.3rem 0}\n",
    "#panel summary{cursor:pointer;overflow-wrap:anywhere}\n",
    "#panel code,pre{font:.82rem/1.45 ui-monospace,Menlo,Consolas,monospace}\n",
    "pre{background:var(--soft);border-radius:6px;padding:.5rem "
    ".7rem;margin:.3rem 0;\n",
    "overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere}\n",
    ".body{padding:.2rem 0 .4rem 1.9rem}\n",
    "@media (max-width:52rem){main{padding:.8rem}\n",
    ".row{flex-direction:column;gap:0;contain-intrinsic-size:auto 3rem}\n",
    ".label{flex:none;text-align:left}\n",
    "#panel{top:auto;left:0;width:auto;height:62vh;border-left:0;\n",
    "border-top:2px solid var(--line)}\n",
    "body.open main{margin-right:0;padding-bottom:64vh}}\n",
    "@media print{#panel{display:none}}\n",
    "#totals{display:grid;gap:0 2rem;\n",
    "grid-template-columns:repeat(auto-fill,minmax(min(24rem,100%),1fr))}\n",
    "#totals section{max-height:21rem;overflow:auto;margin-bottom:.6rem}\n",
    "#totals section{content-visibility:auto;contain-intrinsic-height:auto\n",
    "min(21rem,5rem + var(--rows)*2rem)}\n",
    "#totals h2{margin-top:.2rem}\n",
    "th{white-space:nowrap}\n",
};
/* clang-format on */

void page_style(struct text *text)
{
    for (size_t i = 0; i < sizeof style / sizeof style[0]; i++)
        text_put(text, style[i]);
}
