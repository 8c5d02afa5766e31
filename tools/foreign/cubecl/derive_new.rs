// A stand-in for the crate derive-new: a constructor with a parameter for each field, for
// structures with named fields.
extern crate proc_macro;
use proc_macro::{Delimiter, TokenStream, TokenTree};

#[proc_macro_derive(new)]
pub fn derive(input: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = input.into_iter().collect();
    let at = tokens.iter().position(|t| t.to_string() == "struct").expect("a structure");
    let name = tokens[at + 1].to_string();
    let body = tokens[at + 2..].iter().position(|t| matches!(t, TokenTree::Group(g) if g.delimiter() == Delimiter::Brace));
    let body = at + 2 + body.expect("named fields");
    let generics: String = tokens[at + 2..body].iter().map(|t| t.to_string() + " ").collect();
    let TokenTree::Group(fields) = &tokens[body] else { unreachable!() };

    // A field is what stands between commas: attributes, visibility, name, colon, type.
    let (mut parameters, mut names, mut field, mut depth) = (String::new(), String::new(), Vec::new(), 0);
    for t in fields.stream().into_iter().map(|t| t.to_string()).chain([",".to_string()]) {
        depth += (t == "<") as i32 - (t == ">") as i32;
        if t != "," || depth > 0 {
            field.push(t);
            continue;
        }
        if let Some(colon) = field.iter().position(|t| t == ":") {
            names += &format!("{},", field[colon - 1]);
            parameters += &format!("{}: {},", field[colon - 1], field[colon + 1..].join(" "));
        }
        field.clear();
    }
    let arguments = generics.split(['<', '>']).nth(1).unwrap_or("");
    let plain: String = arguments.split(',').map(|a| a.split(':').next().unwrap().to_string() + ",").collect();
    let plain = if arguments.trim().is_empty() { String::new() } else { format!("<{plain}>") };
    format!("impl {generics} {name} {plain} {{ pub fn new({parameters}) -> Self {{ Self {{ {names} }} }} }}").parse().unwrap()
}
