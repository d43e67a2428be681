package main

import (
	"go/ast"
)

// finals collects the statements that end a function with results. Go requires each of them:
// without one, the function lacks a return.
func finals(tree *ast.File, into map[ast.Node]bool) {
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Body != nil && n.Type.Results != nil {
				last(n.Body.List, into)
			}
		case *ast.FuncLit:
			if n.Type.Results != nil {
				last(n.Body.List, into)
			}
		}
		return true
	})
}

// last collects from the end of a list of statements.
func last(list []ast.Stmt, into map[ast.Node]bool) {
	if len(list) > 0 {
		end(list[len(list)-1], into)
	}
}

func end(s ast.Stmt, into map[ast.Node]bool) {
	switch s := s.(type) {
	case *ast.ReturnStmt, *ast.BranchStmt, *ast.ExprStmt: // the last is a panic
		into[s] = true
	case *ast.BlockStmt:
		last(s.List, into)
	case *ast.LabeledStmt:
		end(s.Stmt, into)
	case *ast.IfStmt:
		last(s.Body.List, into)
		if s.Else != nil {
			end(s.Else, into)
		}
	case *ast.SwitchStmt:
		clauses(s.Body, into)
	case *ast.TypeSwitchStmt:
		clauses(s.Body, into)
	case *ast.SelectStmt:
		clauses(s.Body, into)
	}
}

func clauses(body *ast.BlockStmt, into map[ast.Node]bool) {
	for _, s := range body.List {
		switch s := s.(type) {
		case *ast.CaseClause:
			last(s.Body, into)
		case *ast.CommClause:
			last(s.Body, into)
		}
	}
}
